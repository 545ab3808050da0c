// The version of these headers, for #if. The build reads it from here; rapt::version() is the library's.
#pragma once

// The interface: a program written for MAJOR.MINOR compiles against a later PATCH of it.
#define RAPT_VERSION_MAJOR 0
#define RAPT_VERSION_MINOR 1
#define RAPT_VERSION_PATCH 0

// The bits: no release changes a bit of out, weights or scores in fused arithmetic without a new number here,
// whatever its version.
#define RAPT_CONTRACT_VERSION 1
