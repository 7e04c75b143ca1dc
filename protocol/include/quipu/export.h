// export.h: what libquipu.so shows. Everything else is hidden, so that an
// embedder meets none of our dependencies.
#pragma once

#define QUIPU_EXPORT [[gnu::visibility("default")]]
// The private parts of a class that is QUIPU_EXPORT.
#define QUIPU_HIDDEN [[gnu::visibility("hidden")]]
