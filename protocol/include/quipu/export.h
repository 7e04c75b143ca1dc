// export.h: what libquipu.so shows. Everything else is hidden, so that an
// embedder meets none of our dependencies.
#pragma once

#define QUIPU_EXPORT [[gnu::visibility("default")]]
