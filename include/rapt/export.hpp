// What a shared build of rapt exports. Everything without this mark is hidden.
#pragma once

#define RAPT_API __attribute__((visibility("default")))
