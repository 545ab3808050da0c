// rapt capacity as a program: its bytes are those of arrays and of KvCache, and its picture shows them.
#include <rapt/kv_cache.hpp>

#include <catch2/catch.hpp>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

using namespace rapt::test;
using nlohmann::json;

namespace {

json rows_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "capacity");
  arguments.emplace_back("--json");
  const Finished finished = run_rapt(arguments);
  REQUIRE(finished.status == 0);
  CHECK(finished.err.empty());
  return json::parse(finished.out);
}

}  // namespace

TEST_CASE("rapt capacity: payload by the formula, allocated as KvCache does") {
  struct Case {
    std::ptrdiff_t layers, heads, kv_heads, head_dim, v_dim, batch, tokens, itemsize;
    rapt::KvDtype dtype;
    const char* name;
  };
  for (const Case& c : std::initializer_list<Case>{{3, 8, 2, 64, 64, 2, 300, 4, rapt::KvDtype::f32, "f32"},
                                                   {1, 6, 3, 5, 9, 1, 256, 8, rapt::KvDtype::f64, "f64"},
                                                   {2, 4, 4, 33, 33, 3, 1, 2, rapt::KvDtype::bf16, "bf16"},
                                                   {2, 2, 1, 80, 16, 1, 257, 2, rapt::KvDtype::f16, "f16"}}) {
    const json rows =
        rows_of({"--layers", std::to_string(c.layers), "--heads", std::to_string(c.heads), "--kv-heads",
                 std::to_string(c.kv_heads), "--head-dim", std::to_string(c.head_dim), "--v-dim",
                 std::to_string(c.v_dim), "--batch", std::to_string(c.batch), "--tokens",
                 std::to_string(c.tokens), "--dtype", c.name});
    INFO(rows.dump());
    std::vector<std::ptrdiff_t> heads;
    for (const json& row : rows) {
      heads.push_back(row["kv_heads"]);
      const std::ptrdiff_t per_token = c.layers * heads.back() * (c.head_dim + c.v_dim) * c.itemsize;
      CHECK(row["bytes_per_token"] == per_token);
      CHECK(row["payload_bytes"] == per_token * c.batch * c.tokens);
      const rapt::KvCache cache({.batch = c.batch,
                                 .n_kv_heads = heads.back(),
                                 .head_dim = c.head_dim,
                                 .v_dim = c.v_dim,
                                 .capacity = c.tokens,
                                 .window = std::nullopt,
                                 .dtype = c.dtype});
      CHECK(row["allocated_bytes"] == c.layers * cache.nbytes());
      CHECK(row["of_mha"] == static_cast<double>(heads.back()) / static_cast<double>(c.heads));
    }
    std::vector<std::ptrdiff_t> expected{c.heads};
    if (c.kv_heads > 1 && c.kv_heads < c.heads) expected.push_back(c.kv_heads);
    expected.push_back(1);
    CHECK(heads == expected);
  }
}

TEST_CASE("rapt capacity --memory: the most tokens that fit") {
  const std::vector<std::string> shape{"--layers", "2", "--heads", "4", "--head-dim", "16", "--dtype", "f32"};
  const auto with = [&](std::initializer_list<std::string> more) {
    std::vector<std::string> all = shape;
    all.insert(all.end(), more);
    return rows_of(all)[0];
  };
  // A token takes 2 layers x 4 heads x 32 elements x 4 bytes = 1 KiB.
  CHECK(with({"--memory", "3MiB"})["tokens"] == 3072);
  CHECK(with({"--memory", "3145727"})["tokens"] == 3071);
  CHECK(with({"--memory", "1.5 KiB"})["tokens"] == 1);
  CHECK(with({"--memory", "0"})["tokens"] == 0);
  // Padded to whole vectors, as many tokens as the payload allows would take more bytes than can be counted.
  const json narrow = rows_of({"--layers", "1", "--heads", "1", "--head-dim", "1", "--memory", "7EiB"})[0];
  CHECK(narrow["tokens_in_rapt"] > 0);
  CHECK(narrow["tokens_in_rapt"] < narrow["tokens"]);
  const json row = with({"--memory", "3MiB"});
  const std::ptrdiff_t held = row["tokens_in_rapt"];
  CHECK(row["allocated_bytes"] <= 3 << 20);
  CHECK(with({"--tokens", std::to_string(held)})["allocated_bytes"] == row["allocated_bytes"]);
  CHECK(with({"--tokens", std::to_string(held + 1)})["allocated_bytes"] > 3 << 20);
}

TEST_CASE("rapt capacity: tokens and memory together tell of both") {
  const json both = rows_of({"--tokens", "300", "--memory", "24GiB"});
  const json tokens = rows_of({"--tokens", "300"}), memory = rows_of({"--memory", "24GiB"});
  for (std::size_t i = 0; i < both.size(); ++i) {
    json row = both[i];
    CHECK(row["tokens_that_fit"] == memory[i]["tokens_in_rapt"]);
    row.erase("tokens_that_fit");
    CHECK(row == tokens[i]);
  }
}

TEST_CASE("rapt capacity --plot draws with gnuplot, or says beforehand that it cannot") {
  const Scratch scratch;
  const auto plot = [](const std::string& file, const std::vector<std::string>& more,
                       const Setting& setting) {
    std::vector<std::string> all{"capacity", "--plot", file};
    all.insert(all.end(), more.begin(), more.end());
    return run_rapt(all, setting);
  };
  const std::string svg = scratch / "plot.svg", png = scratch / "plot's.png";
  const Finished without = plot(svg, {}, {.environment = {"PATH=/no/such/folder"}});
  check_refused(without, 1, "rapt: --plot: gnuplot is missing, install the package gnuplot-nox");
  if (run_program("gnuplot", {"--version"}).status != 0) {
    std::cout << "skipped: needs gnuplot-nox" << std::endl;
    return;
  }
  CHECK(plot(svg, {"--tokens", "8192", "--memory", "24GiB"}, {}).status == 0);
  const std::string drawn = read_file(svg);
  for (const char* words : {"llama-3-8b: 32 layers", "bf16", "MHA, 32 KV heads", "GQA, 8 KV heads",
                            "MQA, 1 KV head", "8192 tokens", "4.0 GiB", "1.0 GiB", "128.0 MiB", "24GiB",
                            "49152 fit", "196608 fit", "1572864 fit", "64 MiB"}) {
    INFO(words);
    CHECK(drawn.find(words) != std::string::npos);
  }
  CHECK(plot(svg, {"--model", "llama-3-8b", "--layers", "2"}, {}).status == 0);
  CHECK(read_file(svg).find("llama") == std::string::npos);  // no longer that model's shape
  CHECK(plot(png, {"--memory", "1.5 GB"}, {}).status == 0);
  CHECK(read_file(png).rfind("\x89PNG", 0) == 0);
  for (const std::vector<std::string>& edge :
       std::initializer_list<std::vector<std::string>>{{"--memory", "0"},
                                                       {"--memory", "1"},
                                                       {"--memory", "8388607TiB"},
                                                       {"--tokens", "1"},
                                                       {"--tokens", "17592183947264"},
                                                       {"--heads", "1"}}) {
    INFO(edge[0] << " " << edge[1]);
    CHECK(plot(png, edge, {}).status == 0);
  }
  check_refused(plot("/no/such/folder/plot.svg", {}, {}), 1,
                "rapt: /no/such/folder/plot.svg: cannot be written: ");
  std::ofstream(svg) << "kept";
  CHECK(plot(svg, {}, {.output = svg}).status == 2);
  CHECK(read_file(svg) == "kept");
}

TEST_CASE("rapt capacity: models by name, table and CSV") {
  const json llama = rows_of({"--model", "llama-3-8b", "--tokens", "8192"});
  CHECK(llama[1]["kind"] == "GQA");
  CHECK(llama[1]["payload_bytes"] == 1LL << 30);
  CHECK(rows_of({"--model", "falcon-7b"}).size() == 2);
  const Finished table = run_rapt({"capacity", "--tokens", "8192"});
  CHECK(table.out.find("1073741824 (1.0 GiB)") != std::string::npos);
  const Finished csv = run_rapt({"capacity", "--csv", "--layers", "1", "--heads", "1", "--head-dim", "8",
                                 "--dtype", "f32", "--tokens", "1"});
  CHECK(csv.out.rfind(
            "kind,kv_heads,bytes_per_token,tokens,payload_bytes,allocated_bytes,of_mha\nMHA,1,64,1,64,", 0) ==
        0);
}

TEST_CASE("rapt capacity refuses what it cannot count") {
  for (const std::vector<std::string>& arguments :
       std::initializer_list<std::vector<std::string>>{{"--model", "no-such-model"},
                                                       {"--heads", "8", "--kv-heads", "3"},
                                                       {"--tokens", "0"},
                                                       {"--memory", "-1"},
                                                       {"--memory", "much"},
                                                       {"--memory", "16EiB"},
                                                       {"--memory", "9e9GiB"},
                                                       {"--dtype", "int8"},
                                                       {"--csv", "--json"},
                                                       {"--plot", "plot.gif"},
                                                       {"--tokens", "9223372036854775807"},
                                                       {"--tokens", "1152921504606846976", "--layers", "1",
                                                        "--heads", "1", "--head-dim", "1", "--dtype", "f16"},
                                                       {"--layers", "9223372036854775807"}}) {
    std::vector<std::string> all{"capacity"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    INFO(arguments[0] << " " << arguments[1]);
    check_refused(run_rapt(all), 2, "rapt: ");
  }
  const std::string shape = "rapt: a cache of 32 layers, ",
                    most = " is more than 9223372036854775807 bytes\n";
  check_refused(run_rapt({"capacity", "--head-dim", "1000000000000000"}), 2,
                shape +
                    "1 sequence, 32 heads of keys and values, head dim 1000000000000000, v dim "
                    "1000000000000000 and 4096 tokens" +
                    most);
  for (const char* what : {"--tokens", "--memory"}) {
    check_refused(run_rapt({"capacity", "--batch", "100000000000000", what, "1"}), 2,
                  shape +
                      "100000000000000 sequences, 32 heads of keys and values, head dim 128, v dim 128 and 1 "
                      "token" +
                      most);
  }
  check_refused(run_rapt({"capacity", "--batch", "1000000000000", "--tokens", "1"}), 2,
                shape + "1000000000000 sequences, ");
  check_refused(run_rapt({"capacity", "--memory", "9223372036854775808"}), 2,
                "rapt: --memory: expected a size below 8 EiB");
  CHECK(run_rapt({"capacity", "--memory", "9223372036854775807"}).status == 0);
  // 2^54 + 2 = 6 x 3002399751580331; the nearest double is less.
  CHECK(rows_of({"--memory", "18014398509481986", "--layers", "1", "--heads", "1", "--head-dim", "1",
                 "--v-dim", "2", "--dtype", "f16"})[0]["tokens"] == 3002399751580331);
  check_refused(run_rapt({"capacity"}, {.closed_pipe = true}), 1,
                "rapt: standard output: cannot be written: ");
}
