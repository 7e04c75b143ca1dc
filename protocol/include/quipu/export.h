// export.h: marks what libquipu.so exports. Everything else is hidden, so that an embedding
// program gets none of our dependencies.
#pragma once

#define QUIPU_EXPORT [[gnu::visibility("default")]]
// The private parts of a class that is QUIPU_EXPORT.
#define QUIPU_HIDDEN [[gnu::visibility("hidden")]]
