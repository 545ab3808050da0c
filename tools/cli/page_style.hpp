// What is the same in every page of rapt explain: its style, in light and dark, and its script, which only
// moves the focus and tells what a cell is. Without it everything can still be read.
#pragma once

namespace rapt::cli {

inline constexpr const char* page_style = R"css(
:root{color-scheme:light dark;--ink:29,78,216;--fore:#1a1a1a;--soft:#5c6370;--back:#fff;--line:#d5d9e0;--hatch:#c3c8d2;--on:#b45309;--strong:#fff}
@media (prefers-color-scheme:dark){:root{--ink:96,165,250;--fore:#e8eaed;--soft:#a3aab5;--back:#16181d;--line:#363b45;--hatch:#444b58;--on:#fbbf24;--strong:#111}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--fore);background:var(--back);margin:2rem auto;padding:0 1.25rem;max-width:72rem}
h1{font-size:1.5rem;margin:0 0 .5rem}h2{font-size:1.15rem;margin:2rem 0 .5rem}p{margin:.4rem 0;max-width:46rem}
.soft{color:var(--soft)}
.wide{overflow-x:auto;padding-bottom:.5rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
.map{border-spacing:0;font-size:.75rem;line-height:1}
.map th{font-weight:400;padding:0 .4rem;white-space:nowrap;text-align:right}
.map thead th{vertical-align:bottom;text-align:center;padding:.3rem 0}
.map thead span{writing-mode:vertical-rl;transform:rotate(180deg);display:inline-block;text-align:left;max-height:9rem;overflow:hidden}
.map td{width:2.6rem;height:1.7rem;min-width:2.6rem;padding:0;text-align:center;border:1px solid var(--line);background:rgba(var(--ink),calc(var(--w)*.85));cursor:default}
.map td.strong{color:var(--strong)}
.map.dense{font-size:.6rem}.map.dense td{width:.7rem;min-width:.7rem;height:.7rem;font-size:0;border-color:transparent}
.map.blocks{font-size:.5625rem}.map.blocks td{width:.5625rem;min-width:.5625rem;height:.5625rem}
.map.blocks th{line-height:0}.map.blocks thead span{line-height:1;margin-left:-.1rem}
.map.dense th{padding:0 .25rem}.map.dense thead th{padding:.2rem 0}
.map td.later,.later.key{background:repeating-linear-gradient(135deg,transparent 0 3px,var(--hatch) 3px 4px)}
.map td.padding,.padding.key{background:repeating-linear-gradient(45deg,transparent 0 2px,var(--hatch) 2px 4px)}
.map th.padding{color:var(--soft);text-decoration:line-through}
.map tr.gen th{font-style:italic}.map tr.first-gen td,.map tr.first-gen th{border-top:2px solid var(--fore)}
.map th.on{color:var(--on);font-weight:700}.map td.on-row{box-shadow:inset 0 1px var(--on),inset 0 -1px var(--on)}.map td.on-column{box-shadow:inset 1px 0 var(--on),inset -1px 0 var(--on)}
.map td:focus{outline:3px solid var(--on);outline-offset:-1px}
.key{display:inline-block;width:1.4rem;height:.9rem;border:1px solid var(--line);vertical-align:middle;margin:0 .3rem 0 0}
.ramp{width:7rem}.with-key{white-space:nowrap;margin-right:1rem}
#told{position:sticky;bottom:0;background:var(--back);border-top:1px solid var(--line);padding:.5rem 0;min-height:1.5rem;font-size:1.05rem}
details{margin:.5rem 0;border:1px solid var(--line);border-radius:.4rem;padding:.4rem .8rem}summary{cursor:pointer;font-weight:600}
.rows td,.rows th{padding:.15rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap;font-weight:400}
.rows th,.rows td.text{text-align:left}.rows td.text{white-space:normal}.rows thead th{font-weight:600;color:var(--soft)}
)css";

inline constexpr const char* page_script = R"js(
'use strict';
const map = document.querySelector('.map'), told = document.getElementById('told');
const columns = [...map.tHead.rows[0].cells].slice(1), rows = [...map.tBodies[0].rows];
let lit = [];
function cellAt(r, c) { return rows[r].cells[c + 1]; }
function place(cell) { return [cell.parentNode.sectionRowIndex, cell.cellIndex - 1]; }
function show(cell) {
  for (const old of lit) old.classList.remove('on', 'on-row', 'on-column');
  const [r, c] = place(cell), across = [...rows[r].cells].slice(1), down = rows.map(row => row.cells[c + 1]);
  for (const one of across) one.classList.add('on-row');
  for (const one of down) one.classList.add('on-column');
  for (const one of [rows[r].cells[0], columns[c]]) one.classList.add('on');
  lit = [rows[r].cells[0], columns[c], ...across, ...down];
  const from = rows[r].cells[0].dataset.name, to = columns[c].dataset.name;
  if (cell.className.includes('later')) told.textContent = `${from} cannot look at ${to}: it comes later`;
  else if (cell.className.includes('padding')) told.textContent = `${from} and ${to}: one of them is padding, which takes no part`;
  else told.textContent = `${from} looks at ${from === to ? 'itself' : to}: ${cell.textContent}` + (map.dataset.most ? ', the most in this block' : '');
}
let current = cellAt(0, 0);
function focusOn(cell) { current.tabIndex = -1; current = cell; cell.tabIndex = 0; cell.focus(); }
map.addEventListener('mouseover', event => { const cell = event.target.closest('td'); if (cell) show(cell); });
map.addEventListener('focusin', event => { const cell = event.target.closest('td'); if (cell) { current.tabIndex = -1; current = cell; cell.tabIndex = 0; show(cell); } });
map.addEventListener('keydown', event => {
  let [r, c] = place(current);
  const last = columns.length - 1, bottom = rows.length - 1;
  const moves = {ArrowLeft: [r, c - 1], ArrowRight: [r, c + 1], ArrowUp: [r - 1, c], ArrowDown: [r + 1, c], Home: [r, 0], End: [r, last], PageUp: [0, c], PageDown: [bottom, c]};
  if (!moves[event.key]) return;
  event.preventDefault();
  [r, c] = moves[event.key];
  focusOn(cellAt(Math.min(Math.max(r, 0), bottom), Math.min(Math.max(c, 0), last)));
});
)js";

}  // namespace rapt::cli
