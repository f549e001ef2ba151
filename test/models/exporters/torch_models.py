"""Models as PyTorch's exporter writes them, with random weights.

torch_models.py DIR [NAMES...] writes for each model DIR/NAME.onnx, and inputs of
several runs as DIR/NAME.npz: "0/input_ids" is an input of the first one. Needs
torch, torchvision, timm and transformers.
"""

import numpy as np
import timm
import torch
import torchvision
import transformers

from writing import main, save_feeds

OPSET = 16
VOCABULARY = 200


def randomize(module):
    """Other weights than the zeros and ones that parameters and statistics start with."""
    generator = torch.Generator().manual_seed(1)
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        if not tensor.is_floating_point():
            continue
        noise = torch.rand(tensor.shape, generator=generator)
        if (tensor == 1).all():
            tensor.data = 0.75 + 0.5 * noise
        elif (tensor == 0).all():
            tensor.data = 0.2 * noise - 0.1
    return module.eval()


class Named(torch.nn.Module):
    """A model whose inputs and outputs are the named ones, in this order."""

    def __init__(self, module, inputs, outputs):
        super().__init__()
        self.module, self.inputs, self.outputs = module, inputs, outputs

    def forward(self, *values):
        results = self.module(**dict(zip(self.inputs, values)), return_dict=True)
        return tuple(results[name] for name in self.outputs)


class Chosen(torch.nn.Module):
    """One output of a model of images."""

    def __init__(self, module, name):
        super().__init__()
        self.module, self.name = module, name

    def forward(self, image):
        return self.module(image)[self.name]


def image_model(make, size=96, batches=(1, 3), open_size=False):
    """A model of images of an open batch."""
    def build(seed):
        rng = np.random.default_rng(seed)
        sizes = [(size, size), (size + 32, size - 32)] if open_size else [(size, size)] * 2
        feeds = [{"image": rng.standard_normal((batch, 3, *extents)).astype(np.float32)}
                 for batch, extents in zip(batches, sizes)]
        axes = {0: "batch", **({2: "height", 3: "width"} if open_size else {})}
        return make(), feeds, {"image": axes}, ["output"]
    return build


def timm_model(name, **options):
    extra = {key: options.pop(key) for key in ("img_size",) if key in options}
    return image_model(lambda: timm.create_model(name, pretrained=False, **extra), **options)


def tokens(rng, batch, length):
    return {"input_ids": rng.integers(4, VOCABULARY, (batch, length)),
            "attention_mask": (np.arange(length) < rng.integers(1, length + 1, (batch, 1)))
            .astype(np.int64)}


def text_model(model, config, *outputs, more=None, sizes=((1, 7), (3, 12), (2, 1)), **options):
    """A model of tokens of an open batch and length."""
    def build(seed):
        rng = np.random.default_rng(seed)
        made = model(config(vocab_size=VOCABULARY, **options))
        feeds = [{**tokens(rng, *size), **(more(rng, *size) if more else {})} for size in sizes]
        axes = {name: {0: "batch", 1: "length" if name in tokens(rng, 1, 1) else "target"}
                for name in feeds[0]}
        return Named(made, list(feeds[0]), outputs), feeds, axes, list(outputs)
    return build


def targets(rng, batch, length):
    return {"decoder_input_ids": rng.integers(4, VOCABULARY, (batch, length + 2))}


def feature_model(model, config, name, shapes, *outputs, axes=None, **options):
    """A model of an input of floats."""
    def build(seed):
        rng = np.random.default_rng(seed)
        feeds = [{name: rng.standard_normal(shape).astype(np.float32)} for shape in shapes]
        return (Named(model(config(**options)), [name], outputs), feeds,
                {name: axes or {0: "batch"}}, list(outputs))
    return build


WIDTH = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128)
SEQ2SEQ = dict(d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
               decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128)
T = transformers

MODELS = {
    "timm-resnet18": timm_model("resnet18", open_size=True),
    "timm-regnet": timm_model("regnetx_002"),
    "timm-mobilenetv3": timm_model("mobilenetv3_small_100"),
    "timm-efficientnet": timm_model("efficientnet_b0"),
    "timm-convnext": timm_model("convnext_atto"),
    "timm-ghostnet": timm_model("ghostnet_100"),
    "timm-vit": timm_model("vit_tiny_patch16_224", img_size=96),
    "timm-deit": timm_model("deit_tiny_distilled_patch16_224", img_size=96),
    "timm-swin": timm_model("swin_tiny_patch4_window7_224", size=224, batches=(1, 2)),
    "timm-mixer": timm_model("mixer_s32_224", size=224, batches=(1, 2)),
    "timm-mobilevit": timm_model("mobilevit_xxs", size=128),
    "timm-edgenext": timm_model("edgenext_xx_small", size=128),
    "timm-levit": timm_model("levit_128s", size=224, batches=(1, 2)),
    "torchvision-shufflenet": image_model(
        lambda: torchvision.models.shufflenet_v2_x0_5(weights=None)),
    "torchvision-deeplab": image_model(
        lambda: Chosen(torchvision.models.segmentation.lraspp_mobilenet_v3_large(
            weights=None, weights_backbone=None), "out"), open_size=True),
    "bert": text_model(T.BertModel, T.BertConfig, "last_hidden_state", "pooler_output", **WIDTH),
    "roberta": text_model(T.RobertaModel, T.RobertaConfig, "last_hidden_state", **WIDTH),
    "electra": text_model(T.ElectraModel, T.ElectraConfig, "last_hidden_state", **WIDTH),
    "albert": text_model(T.AlbertModel, T.AlbertConfig, "last_hidden_state", **WIDTH),
    "mobilebert": text_model(T.MobileBertModel, T.MobileBertConfig, "last_hidden_state", **WIDTH),
    "distilbert": text_model(T.DistilBertModel, T.DistilBertConfig, "last_hidden_state",
                             dim=64, n_layers=2, n_heads=4, hidden_dim=128),
    "deberta": text_model(T.DebertaV2Model, T.DebertaV2Config, "last_hidden_state",
                          relative_attention=True, pos_att_type=["p2c", "c2p"],
                          position_buckets=16, max_relative_positions=32, **WIDTH),
    "gpt2": text_model(T.GPT2LMHeadModel, T.GPT2Config, "logits", n_embd=64, n_layer=2, n_head=4),
    "gpt-neox": text_model(T.GPTNeoXForCausalLM, T.GPTNeoXConfig, "logits", **WIDTH),
    "opt": text_model(T.OPTForCausalLM, T.OPTConfig, "logits", hidden_size=64, ffn_dim=128,
                      num_hidden_layers=2, num_attention_heads=4, word_embed_proj_dim=64),
    "llama": text_model(T.LlamaForCausalLM, T.LlamaConfig, "logits", num_key_value_heads=2,
                        **WIDTH),
    "mistral": text_model(T.MistralForCausalLM, T.MistralConfig, "logits", num_key_value_heads=2,
                          **WIDTH),
    "t5": text_model(T.T5ForConditionalGeneration, T.T5Config, "logits", more=targets, d_model=64,
                     d_kv=16, d_ff=128, num_layers=2, num_heads=4),
    "bart": text_model(T.BartForConditionalGeneration, T.BartConfig, "logits", more=targets,
                       **SEQ2SEQ),
    "whisper-encoder": feature_model(
        lambda config: T.WhisperModel(config).encoder, T.WhisperConfig, "input_features",
        [(1, 80, 60), (2, 80, 60)], "last_hidden_state", max_source_positions=30,
        num_mel_bins=80, vocab_size=VOCABULARY, pad_token_id=1, **SEQ2SEQ),
    "wav2vec2": feature_model(
        T.Wav2Vec2Model, T.Wav2Vec2Config, "input_values", [(1, 4000), (2, 6000)],
        "last_hidden_state", axes={0: "batch", 1: "samples"}, conv_dim=(32,) * 7,
        num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, **WIDTH),
    "segformer": feature_model(
        T.SegformerForSemanticSegmentation, T.SegformerConfig, "pixel_values",
        [(1, 3, 64, 64), (2, 3, 64, 64)], "logits", hidden_sizes=[16, 32, 40, 64],
        depths=[1, 1, 1, 1], decoder_hidden_size=32),
    "clip-vision": feature_model(
        T.CLIPVisionModel, T.CLIPVisionConfig, "pixel_values", [(1, 3, 64, 64), (2, 3, 64, 64)],
        "last_hidden_state", "pooler_output", image_size=64, patch_size=16, **WIDTH),
}


def export(name, folder):
    torch.manual_seed(1)
    module, feeds, axes, outputs = MODELS[name](1)
    inputs = {key: torch.from_numpy(value) for key, value in feeds[0].items()}
    with torch.no_grad():
        torch.onnx.export(randomize(module), tuple(inputs.values()), str(folder / f"{name}.onnx"),
                          input_names=list(inputs), output_names=outputs, dynamic_axes=axes,
                          opset_version=OPSET)
    save_feeds(folder, name, feeds)


if __name__ == "__main__":
    main(MODELS, export)
