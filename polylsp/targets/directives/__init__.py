"""OpenMP and OpenACC directives for loops on the CPU and on devices."""
