#include "dialects/Lumen/Symbols.h"
