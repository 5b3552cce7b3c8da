#pragma once
#define __BEGIN_DECLS
#define __END_DECLS
#define __THROW
#define __P(arguments) arguments
