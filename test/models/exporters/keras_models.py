"""Models of Keras as tf2onnx writes them, with random weights.

keras_models.py DIR [NAMES...] writes for each model DIR/NAME.onnx, and inputs of
several runs as DIR/NAME.npz: "0/image" is an input of the first one. Needs
tensorflow and tf2onnx.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import tf2onnx  # noqa: E402
from tensorflow import keras  # noqa: E402

from writing import main, save_feeds  # noqa: E402

OPSET = 15
layers = keras.layers
# Keras calls convolutions in groups by a function of XLA, which tf2onnx leaves as it is.
layers.Conv2D._jit_compiled_convolution_op = layers.Conv2D.convolution_op
applications = keras.applications


def application(make, size=96, **options):
    def build():
        return make(weights=None, input_shape=(size, size, 3), **options)
    return build, lambda rng, batch: rng.standard_normal((batch, size, size, 3), np.float32)


def text(*stack):
    """A model of sequences of tokens."""
    def build():
        tokens = keras.Input((None,), dtype="int32")
        x = layers.Embedding(200, 32)(tokens)
        for make in stack:
            x = make()(x)
        return keras.Model(tokens, layers.Dense(10, activation="softmax")(x))
    return build, lambda rng, batch: rng.integers(0, 200, (batch, 5 + 3 * batch)).astype(np.int32)


def attention():
    def build():
        x = keras.Input((12, 32))
        y = layers.LayerNormalization()(x)
        y = layers.MultiHeadAttention(4, 8)(y, y)
        y = layers.Add()([x, y])
        z = layers.Dense(64, activation="gelu")(layers.LayerNormalization()(y))
        y = layers.Add()([y, layers.Dense(32)(z)])
        return keras.Model(x, layers.GlobalAveragePooling1D()(y))
    return build, lambda rng, batch: rng.standard_normal((batch, 12, 32), np.float32)


def convolutions():
    """Layers that the networks of pictures do without."""
    def build():
        x = keras.Input((24, 20, 4))
        y = layers.Conv2DTranspose(8, 3, strides=2, padding="same", activation="elu")(x)
        y = layers.SeparableConv2D(12, 3, dilation_rate=2, padding="same")(y)
        y = layers.LeakyReLU()(layers.PReLU(shared_axes=[1, 2])(y))
        y = layers.UpSampling2D(2, interpolation="bilinear")(layers.AveragePooling2D(2)(y))
        y = layers.Cropping2D(((1, 2), (0, 3)))(layers.ZeroPadding2D(2)(y))
        y = layers.Reshape((-1, 12))(layers.MaxPooling2D(3, padding="same")(y))
        y = layers.Conv1D(16, 5, padding="causal", activation="swish")(y)
        return keras.Model(x, layers.GlobalMaxPooling1D()(y))
    return build, lambda rng, batch: rng.standard_normal((batch, 24, 20, 4), np.float32)


MODELS = {
    "mobilenet": application(applications.MobileNet),
    "mobilenetv2": application(applications.MobileNetV2),
    "mobilenetv3": application(applications.MobileNetV3Small),
    "efficientnet": application(applications.EfficientNetB0),
    "efficientnetv2": application(applications.EfficientNetV2B0),
    "resnet50v2": application(applications.ResNet50V2),
    "densenet121": application(applications.DenseNet121),
    "xception": application(applications.Xception),
    "inceptionv3": application(applications.InceptionV3),
    "nasnet": application(applications.NASNetMobile, size=224),
    "convnext": application(applications.ConvNeXtTiny),
    "regnet": application(applications.RegNetX002),
    "keras-convolutions": convolutions(),
    "keras-attention": attention(),
    "keras-lstm": text(lambda: layers.Bidirectional(layers.LSTM(16, return_sequences=True)),
                       lambda: layers.LSTM(24)),
    "keras-gru": text(lambda: layers.GRU(16, return_sequences=True),
                      lambda: layers.GRU(24, go_backwards=True, reset_after=False)),
    "keras-rnn": text(lambda: layers.SimpleRNN(16)),
}


def randomize(model, rng):
    """Other weights than the zeros and ones that they start with."""
    for weight in model.weights:
        value = weight.numpy()
        if (value == 1).all():
            weight.assign(rng.uniform(0.75, 1.25, value.shape).astype(value.dtype))
        elif (value == 0).all():
            weight.assign(rng.uniform(-0.1, 0.1, value.shape).astype(value.dtype))


def export(name, folder):
    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(1)
    build, feed = MODELS[name]
    model = build()
    randomize(model, rng)
    shape, dtype = model.inputs[0].shape, model.inputs[0].dtype
    tf2onnx.convert.from_keras(model, opset=OPSET, output_path=str(folder / f"{name}.onnx"),
                               input_signature=[tf.TensorSpec(shape, dtype, name="input")])
    save_feeds(folder, name, [{"input": feed(rng, batch)} for batch in (1, 3)])


if __name__ == "__main__":
    main(MODELS, export)
