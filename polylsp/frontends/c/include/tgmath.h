#pragma once
#include <math.h>
#include <complex.h>
