"""How a random node of each operator is drawn: all families of recipes."""

import recipes_attention  # noqa: F401 (adds its recipes)
import recipes_contraction  # noqa: F401
import recipes_contrib  # noqa: F401
import recipes_elementwise  # noqa: F401
import recipes_image  # noqa: F401
import recipes_learning  # noqa: F401
import recipes_movement  # noqa: F401
import recipes_normalization  # noqa: F401
import recipes_quantization  # noqa: F401
import recipes_reduction  # noqa: F401
import recipes_signal  # noqa: F401
import recipes_training  # noqa: F401
from recipe_table import RECIPES  # noqa: F401
