// All of rapt.
#pragma once

#include <rapt/attention.hpp>
#include <rapt/capacity.hpp>
#include <rapt/dtype.hpp>
#include <rapt/embedding.hpp>
#include <rapt/error.hpp>
#include <rapt/info.hpp>
#include <rapt/kv_cache.hpp>
#include <rapt/pipeline.hpp>
#include <rapt/projection.hpp>
#include <rapt/version.hpp>
#include <rapt/view.hpp>
