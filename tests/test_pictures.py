"""Pictures that tools return: which of them a model is given, in what form, on which wire."""
# ruff: noqa: RUF001 - the sign of multiplication is meant

from __future__ import annotations

import asyncio
import base64
import io
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from IPython.display import Image as Shown
from PIL import Image

import nbtools as nb
from nbtools import sight
from nbtools.display import look
from nbtools.endings import finished
from nbtools.events import CallEnded
from nbtools.history import estimate_tokens, prepare
from nbtools.messages import (
    Conversation,
    File,
    Job,
    Message,
    Notice,
    Part,
    Picture,
    Request,
    Text,
    ToolCall,
)
from nbtools.patches import write_part
from nbtools.providers import Anthropic, OpenAI, Provider
from nbtools.providers.emulation import emulate
from nbtools.providers.failures import Report, error_of
from nbtools.providers.vision import takes_pictures
from nbtools.testing import call, encode
from tests.servers import calls_reply, problem, text_reply
from tests.stage import Page, Serve, Strict, serve

__all__ = ["serve"]

mpl.use("Agg")
from matplotlib.figure import Figure

LIMITS = nb.Limits()
CALL = ToolCall(id="k-1", tool="plot")


def picture(width: int = 30, height: int = 20, kind: str = "PNG", mode: str = "RGB") -> bytes:
    buffer = io.BytesIO()
    Image.new(mode, (width, height), 120).save(buffer, kind)
    return buffer.getvalue()


def noise(width: int, height: int) -> Image.Image:
    return Image.effect_noise((width, height), 90).convert("RGB")


def plot(**options: Any) -> Figure:
    figure = Figure(**options)
    figure.add_subplot().plot([1, 3, 2])
    return figure


def text_of(content: bytes) -> str:
    return base64.b64encode(content).decode()


def given_of(content: bytes, mime: str = "image/png") -> Picture:
    size = sight.size_of(content)
    assert size is not None
    return Picture(mime=mime, width=size[0], height=size[1], data=text_of(content))


def shown_by(end: CallEnded) -> dict[str, Any]:
    """The display of a call that ended."""
    return dict(end.display or {})


RED = given_of(picture())
PIXEL = given_of(picture(1, 1))

# --- of a value -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "take",
    [
        lambda figure: figure,
        lambda figure: figure.axes[0],
        lambda figure: list(figure.axes[0].lines),
        lambda figure: (figure, figure.axes[0]),
        lambda figure: {"image/png": png_of(figure)},
    ],
    ids=["figure", "axes", "lines", "both", "bundle"],
)
def test_a_figure_is_given_as_the_picture_that_the_person_sees(take: Any):
    end = finished(CALL, take(plot()), LIMITS)
    (seen,) = end.pictures
    assert (seen.mime, seen.data) == ("image/png", shown_by(end)["image/png"])
    assert sight.size_of(base64.b64decode(seen.data)) == (seen.width, seen.height)


def png_of(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (
            Image.new("RGB", (30, 20)),
            "A picture (image/png, 30 × 20 pixels) was shown to the user.",
        ),
        (Shown(picture()), "A picture (image/png, 30 × 20 pixels) was shown to the user."),
        (picture(), f"A picture (image/png, {len(picture())} bytes) was shown to the user."),
        (
            picture(kind="GIF"),
            f"A picture (image/gif, {len(picture(kind='GIF'))} bytes) was shown to the user.",
        ),
        (
            {"image/png": picture()},
            "A picture (image/png, 30 × 20 pixels) was shown to the user.",
        ),
        ({"image/png": picture(), "text/plain": "a red box"}, "a red box"),
    ],
    ids=["pillow", "ipython", "bytes", "gif", "bundle", "bundle with words"],
)
def test_whatever_is_a_picture_is_given_and_named(value: object, told: str):
    end = finished(CALL, value, LIMITS)
    assert end.told == told
    assert [(seen.mime, seen.width, seen.height) for seen in end.pictures] == [
        ("image/png", 30, 20)
    ]


@pytest.mark.parametrize("value", ["text", 3, None, {"a": 1}, [1, 2], b"PK", pd.DataFrame()])
def test_what_is_no_picture_is_told_in_words_alone(value: object):
    assert finished(CALL, value, LIMITS).pictures == ()


def test_a_face_of_texts_and_pictures_is_told_one_by_one():
    figure = plot(figsize=(4, 3))
    value = nb.Result(figure, model=["Sales fall from March on.", figure, picture()])
    end = finished(CALL, value, LIMITS)
    assert end.told == (
        "Sales fall from March on.\n\n"
        "A figure (400 × 300 pixels) was shown to the user.\n\n"
        f"A picture (image/png, {len(picture())} bytes)."
    )
    assert [seen.data for seen in end.pictures] == [shown_by(end)["image/png"], RED.data]


def test_a_list_of_figures_and_tables_is_shown_and_told_one_by_one():
    first, second, frame = plot(figsize=(4, 3)), plot(figsize=(2, 1)), pd.DataFrame({"n": [1]})
    end = finished(CALL, [first, first.axes[0], second, frame], LIMITS)
    assert end.told == (
        "A figure (400 × 300 pixels) was shown to the user.\n\n"
        "A figure (200 × 100 pixels) was shown to the user.\n\n"
        "A table of 1 row and 1 column.\nColumns: n (int64)\nn\n1\n"
    )
    shown = shown_by(end)["application/vnd.nbtools.several+json"]
    drawn = [one["image/png"] for one in shown[:2]]
    assert [seen.data for seen in end.pictures] == drawn
    assert "text/html" in shown[2]


def test_a_figure_with_another_display_is_given_to_the_model_alone():
    end = finished(CALL, nb.Result(plot(), display="Up and down."), LIMITS)
    assert end.told == "A figure (640 × 480 pixels)."
    assert (end.display, len(end.pictures)) == ({"text/plain": "Up and down."}, 1)


async def test_a_figure_that_is_left_open_is_given_where_the_tool_returns_nothing():
    @nb.tool
    def draw(say: bool) -> str | None:
        """Draw."""
        import matplotlib.pyplot as plt

        plt.plot([1, 2])
        return "drawn" if say else None

    model = Strict([call("draw", {"say": False}), call("draw", {"say": True})], "Seen.")
    page = Page(model, [draw])
    await page.say("Draw")
    assert [len(each.pictures) for each in page.calls] == [1, 0]
    assert page.calls[0].pictures[0].data == (page.calls[0].display or {})["image/png"]


# --- bounds ---------------------------------------------------------------------------------------


def test_a_large_picture_is_made_smaller_for_the_model_and_stays_large_for_the_person():
    end = finished(CALL, picture(3_000, 1_500), LIMITS)
    assert [(seen.width, seen.height) for seen in end.pictures] == [(1_024, 512)]
    assert sight.size_of(base64.b64decode(shown_by(end)["image/png"])) == (3_000, 1_500)


def test_how_large_and_how_many_pictures_are_is_a_setting():
    limits = nb.Limits(pictures=2, pixels=64)
    seen = look([picture(200, 100)] * 5, limits)
    assert [(each.width, each.height) for each in seen.pictures] == [(64, 32)] * 2
    assert seen.told.endswith("(3 further pictures of this result: not given to you.)")
    nothing = look(picture(), nb.Limits(pictures=0))
    assert nothing.pictures == ()
    assert nothing.told.endswith("(1 picture of this result: not given to you.)")


def test_a_picture_of_too_many_bytes_becomes_a_jpeg():
    (seen,) = look(noise(1_000, 1_000), LIMITS).pictures
    assert seen.mime == "image/jpeg"
    assert len(base64.b64decode(seen.data)) <= sight.LARGEST
    assert sight.fits(seen)
    (huge,) = look(noise(3_000, 3_000), nb.Limits(pixels=3_000)).pictures
    assert (huge.mime, huge.width) == ("image/jpeg", 750)
    assert len(base64.b64decode(huge.data)) <= sight.LARGEST


@pytest.mark.parametrize(
    ("kind", "modes"),
    [
        ("PNG", ["RGB", "RGBA", "L", "LA", "P", "1", "I;16"]),
        ("JPEG", ["RGB", "L", "CMYK"]),
        ("GIF", ["RGB", "RGBA", "P", "1"]),
        ("WEBP", ["RGB", "RGBA"]),
    ],
)
@pytest.mark.parametrize("pixels", [200, 1_024])
def test_a_picture_of_any_kind_is_given_as_one_that_every_wire_takes(
    kind: str, modes: list[str], pixels: int
):
    for mode in modes:
        image = Image.new("L", (300, 100)).convert(mode)
        buffer = io.BytesIO()
        image.save(buffer, kind)
        (seen,) = look(buffer.getvalue(), nb.Limits(pixels=pixels)).pictures
        assert (seen.mime in sight.TYPES, sight.fits(seen)) == (True, True)
        assert seen.width == min(300, pixels)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (picture()[:60], "it is broken ("),
        (picture()[:-25] + bytes(25), "it is broken ("),
        ({"image/png": "%%%"}, "its data are no base64"),
        ({"image/png": "UEs="}, "its content is no PNG, JPEG, GIF or WebP"),
        ({"image/svg+xml": "<svg/>"}, "it is image/svg+xml, and models take only PNG, JPEG"),
    ],
    ids=["cut", "changed", "no base64", "no picture", "another type"],
)
def test_a_picture_that_no_server_could_read_is_not_sent_and_said(value: object, why: str):
    seen = look(value, LIMITS)
    assert seen.pictures == ()
    assert f"(You are not given this picture: {why}" in seen.told


def test_a_png_whose_colour_profile_is_broken_is_given_without_it():
    """So is the picture of the reference server of MCP."""
    buffer = io.BytesIO()
    Image.new("RGB", (30, 20), (120, 120, 120)).save(buffer, "PNG", icc_profile=b"x" * 200)
    content = buffer.getvalue()
    broken = bytearray(content)
    broken[content.index(b"iCCP") + 20] ^= 1
    (seen,) = look(bytes(broken), LIMITS).pictures
    given = base64.b64decode(seen.data)
    assert (b"iCCP" in given, sight.fits(seen)) == (False, True)
    with Image.open(io.BytesIO(given)) as image:
        assert image.getpixel((3, 3)) == (120, 120, 120)


def test_without_pillow_only_what_can_be_sent_as_it_is_is_given(monkeypatch: pytest.MonkeyPatch):
    large, moving = picture(2_000, 10), picture(kind="GIF")
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    assert look(picture(), LIMITS).pictures == (RED,)
    for value in (large, moving):
        seen = look(value, LIMITS)
        assert seen.pictures == ()
        assert "takes Pillow, which is not installed.)" in seen.told


def test_a_figure_that_cannot_be_drawn_is_said():
    class Broken(Figure):
        def savefig(self, *_: object, **__: object) -> None:
            raise RuntimeError("no ink")

    seen = look(Broken(), LIMITS)
    assert (seen.told, seen.pictures) == ("A figure (640 × 480 pixels) that cannot be drawn.", ())


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"pictures": -1}, "pictures is -1; expected a whole number from 0."),
        ({"pixels": 10}, "pixels is 10; expected a whole number from 64."),
    ],
)
def test_a_limit_of_pictures_that_cannot_be_one_is_named(fields: dict[str, Any], text: str):
    with pytest.raises(ValueError, match=text.replace(".", r"\.")):
        nb.Limits(**fields)


@given(
    st.binary(max_size=60), st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a"])
)
@settings(max_examples=100, deadline=None)
def test_bytes_of_any_kind_raise_nothing(content: bytes, magic: bytes):
    seen = look(magic + content, LIMITS)
    assert seen.told
    assert all(map(sight.fits, seen.pictures))


@pytest.mark.parametrize("progressive", [False, True])
def test_the_size_of_a_jpeg_is_read_behind_what_stands_before_it(progressive: bool):
    buffer = io.BytesIO()
    exif = Image.Exif()
    exif[0x010E] = "x" * 2_000
    noise(70, 40).save(buffer, "JPEG", exif=exif, progressive=progressive)
    assert sight.size_of(buffer.getvalue()) == (70, 40)
    assert sight.is_whole(buffer.getvalue())
    assert not sight.is_whole(buffer.getvalue()[:-20])


# --- on the wires ---------------------------------------------------------------------------------


def ask(*calls: ToolCall, then: str = "") -> list[Message]:
    """A question, a reply with calls, and what the user may say next."""
    question = Message(id="m-1", role="user", parts=(Text(id="p-1", text="Draw"),))
    reply = Message(id="m-2", role="assistant", parts=calls, finish="calls")
    more = Message(id="m-3", role="user", parts=(Text(id="p-3", text=then),))
    return [question, reply, more] if then else [question, reply]


def ended(name: str, told: str, *pictures: Picture, tool: str = "plot") -> ToolCall:
    fields: dict[str, Any] = {"state": "result", "outcome": "ok", "args": {}}
    return ToolCall(id=name, tool=tool, told=told, pictures=pictures, **fields)


TWO = ask(ended("k-1", "A figure.", RED, PIXEL), ended("k-2", "low", tool="tide"))


def test_anthropic_takes_pictures_in_the_result():
    body = encode("anthropic", TWO, model="claude-sonnet-5")
    source = {"type": "base64", "media_type": "image/png"}
    assert body["messages"][2]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "k-1",
            "content": [
                {"type": "text", "text": "A figure."},
                {"type": "image", "source": {**source, "data": RED.data}},
                {"type": "image", "source": {**source, "data": PIXEL.data}},
            ],
        },
        {"type": "tool_result", "tool_use_id": "k-2", "content": "low"},
    ]


def test_responses_takes_pictures_in_the_output():
    body = encode("openai-responses", TWO, model="gpt-5.1")
    first, second = body["input"][-2:]
    assert first == {
        "type": "function_call_output",
        "call_id": "k-1",
        "output": [
            {"type": "input_text", "text": "A figure."},
            {
                "type": "input_image",
                "image_url": f"data:image/png;base64,{RED.data}",
                "detail": "auto",
            },
            {
                "type": "input_image",
                "image_url": f"data:image/png;base64,{PIXEL.data}",
                "detail": "auto",
            },
        ],
    }
    assert second == {"type": "function_call_output", "call_id": "k-2", "output": "low"}


def test_gemini_takes_pictures_in_the_response_from_generation_3_on():
    parts = encode("gemini", TWO, model="gemini-3-pro-preview")["contents"][2]["parts"]
    inline = [{"inlineData": {"mimeType": "image/png", "data": each.data}} for each in (RED, PIXEL)]
    assert parts == [
        {
            "functionResponse": {
                "name": "plot",
                "response": {"result": "A figure."},
                "parts": inline,
            }
        },
        {"functionResponse": {"name": "tide", "response": {"result": "low"}}},
    ]


def test_older_geminis_see_pictures_behind_all_responses():
    contents = encode("gemini", TWO, model="gemini-2.5-flash")["contents"]
    assert [each["role"] for each in contents] == ["user", "model", "user"]
    parts = contents[2]["parts"]
    assert [next(iter(part)) for part in parts] == [
        "functionResponse",
        "functionResponse",
        "text",
        "inlineData",
        "inlineData",
    ]
    assert parts[2]["text"] == (
        "[Note from the program: the 2 pictures that plot returned in the call k-1.]"
    )


def test_chat_completions_sees_pictures_in_a_message_behind_all_results():
    body = encode("openai-chat", TWO, model="gpt-5.1")
    assert [each["role"] for each in body["messages"]] == [
        "user", "assistant", "tool", "tool", "user",
    ]  # fmt: skip
    assert [each["content"] for each in body["messages"][2:4]] == ["A figure.", "low"]
    note, first, second = body["messages"][4]["content"]
    assert note["text"] == (
        "[Note from the program: the 2 pictures that plot returned in the call k-1.]"
    )
    assert first == {
        "type": "image_url",
        "image_url": {"url": f"data:image/png;base64,{RED.data}"},
    }
    assert second["image_url"]["url"].endswith(PIXEL.data)
    assert problem(body) == ""


def test_in_chat_completions_what_the_user_says_next_joins_the_pictures():
    messages = ask(ended("k-1", "A figure.", RED), then="Why?")
    body = encode("openai-chat", messages, model="gpt-5.1")
    assert [each["role"] for each in body["messages"]] == ["user", "assistant", "tool", "user"]
    assert [part["type"] for part in body["messages"][3]["content"]] == [
        "text",
        "image_url",
        "text",
    ]
    assert body["messages"][3]["content"][2]["text"] == "Why?"


def test_ollama_sees_pictures_in_a_message_behind_all_results():
    messages = encode("ollama", TWO, model="qwen2.5vl:7b")["messages"]
    assert [each["role"] for each in messages] == ["user", "assistant", "tool", "tool", "user"]
    assert messages[4] == {
        "role": "user",
        "content": "[Note from the program: the 2 pictures that plot returned in the call k-1.]",
        "images": [RED.data, PIXEL.data],
    }


def test_emulated_tools_show_pictures_beside_their_results():
    request = emulate(Request(messages=TWO), nb.Settings())
    last = request.messages[-1]
    assert last.parts[0] == Text(
        id="m-2-results", text="Result of plot: A figure.\nResult of tide: low"
    )
    assert [part.data for part in last.parts[1:] if isinstance(part, File)] == [
        RED.data,
        PIXEL.data,
    ]


@pytest.mark.parametrize(
    "wire", ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"]
)
def test_a_model_that_takes_no_pictures_is_told_so_in_words(wire: Any):
    messages = ask(ended("k-1", "A figure was shown to the user.", RED, PIXEL))
    for options in ({"model": "model"}, {"model": "gpt-5.1", "images": False}):
        text = json.dumps(encode(wire, messages, **options), ensure_ascii=False)
        assert RED.data not in text
        assert (
            r"A figure was shown to the user.\n(Pictures are not sent to this model, "
            "so you do not see it.)"
        ) in text
    assert RED.data in json.dumps(encode(wire, messages, model="model", images=True))


FINISHED = st.builds(
    lambda told, pictures: ended("", told, *pictures),
    st.sampled_from(["low", " ", "A figure."]),
    st.lists(st.sampled_from([RED, PIXEL]), max_size=2),
)


@given(rounds=st.lists(st.lists(FINISHED, min_size=1, max_size=3), min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_each_call_has_one_result_directly_behind_it_with_pictures_or_without(rounds: Any):
    messages = [Message(id="m", role="user", parts=(Text(id="p", text="Go"),))]
    for number, calls in enumerate(rounds):
        named = tuple(
            ended(f"k-{number}-{place}", each.told, *each.pictures)
            for place, each in enumerate(calls)
        )
        messages.append(Message(id=f"m-{number}", role="assistant", parts=named, finish="calls"))
    body = encode("openai-chat", messages, model="gpt-5.1")
    assert problem(body) == ""
    drawn = json.dumps(body).count("data:image/png")
    assert drawn == sum(len(each.pictures) for calls in rounds for each in calls)
    results = [
        [block["tool_use_id"] for block in said["content"] if block["type"] == "tool_result"]
        for said in encode("anthropic", messages, model="claude-sonnet-5")["messages"][2::2]
    ]
    assert results == [[f"k-{n}-{p}" for p in range(len(calls))] for n, calls in enumerate(rounds)]


SEEING = [
    "gpt-5.1",
    "gpt-4o-mini",
    "gpt-4.1",
    "o3",
    "o4-mini",
    "openai/gpt-4o",
    "claude-sonnet-5",
    "claude-3-5-haiku-latest",
    "gemini-2.5-flash",
    "gemini-3-pro-preview",
    "gemma3:4b",
    "llama3.2-vision:11b",
    "meta-llama/llama-4-scout",
    "qwen2.5vl:7b",
    "qwen3-vl-8b-instruct",
    "llava:13b",
    "grok-4",
    "glm-4.5v",
]
BLIND = [
    "model",
    "gpt-3.5-turbo",
    "gpt-4",
    "gpt-oss:20b",
    "o1-mini",
    "o3-mini",
    "gpt-4o-audio-preview",
    "claude-2.1",
    "gemma3:1b",
    "llama3.2",
    "qwen3",
    "deepseek-chat",
    "grok-3",
    "glm-4.5",
    "mistral-small-latest",
    "pixtral-12b",
]


@pytest.mark.parametrize(
    ("model", "sees"), [(m, True) for m in SEEING] + [(m, False) for m in BLIND]
)
def test_a_model_is_known_by_its_name_to_take_pictures(model: str, sees: bool):
    assert takes_pictures(model) is sees


def test_a_file_of_weights_takes_none_whatever_its_name(tmp_path: Path):
    local = nb.Local(tmp_path / "llava-7b.gguf")
    assert local.fit(TWO)[1].parts[0].pictures == ()  # type: ignore[union-attr]


def test_one_message_may_go_without_pictures():
    request = Request(messages=TWO, settings=nb.Settings(images=False))
    assert RED.data not in json.dumps(Anthropic("claude-sonnet-5").encode(request))
    with pytest.raises(ValueError, match="images is 'no'; expected True, False or None"):
        nb.Settings(images="no")  # type: ignore[arg-type]


def test_a_row_of_models_is_given_pictures_if_one_of_them_takes_them():
    def sent_to(*models: Provider) -> object:
        return nb.Fallback(*models).fit(TWO)

    assert sent_to(OpenAI("gpt-5.1"), OpenAI("m")) is TWO
    assert sent_to(OpenAI("m"), OpenAI("gpt-5.1")) is TWO
    assert sent_to(OpenAI("m"), OpenAI("n")) is not TWO


@pytest.mark.parametrize(
    "message",
    [
        "This model does not support image input",
        "image_url is only supported by certain models.",
        "No endpoints found that support image input",
        "this model is missing data required for image input",
        "invalid content: multimodal input is not allowed",
    ],
)
def test_a_refusal_of_pictures_says_what_to_do(message: str):
    error = error_of(Report(message=message), status=400)
    assert "images=False leaves out those that tools return" in error.hint
    assert error_of(Report(message="Bad key"), status=400).hint == ""


# --- through a chat -------------------------------------------------------------------------------


@nb.tool
def draw(width: int = 30) -> bytes:
    """Draw a box."""
    return picture(width)


async def test_a_picture_goes_from_the_tool_to_the_server(serve: Serve):
    page, server = serve(
        calls_reply(("k-1", "draw", "{}"), ("k-2", "draw", '{"width":1}')),
        text_reply("A box."),
        tools=[draw],
    )
    page.session.settings.provider.settings = nb.Settings(images=True)
    await page.say("Draw")
    messages = server.requests[1]["messages"]
    assert [each["role"] for each in messages] == ["user", "assistant", "tool", "tool", "user"]
    kinds = [part["type"] for part in messages[4]["content"]]
    assert kinds == ["text", "image_url", "text", "image_url"]
    assert server.refused == []


async def test_the_page_is_told_of_the_models_picture_and_does_not_get_it():
    page = Page(Strict([call("draw", {"width": 2_000})], "Seen."), [draw])
    await page.say("Draw")
    kept = page.calls[0].pictures[0]
    assert (kept.width, kept.data != "") == (1_024, True)
    (shown,) = page.shown["messages"][1]["parts"]
    assert shown["pictures"] == [{"mime": "image/png", "width": 1_024, "height": 10}]
    assert kept.data not in json.dumps(page.sent)
    assert kept.data not in json.dumps(page.bridge.snapshot())


def test_the_page_does_not_get_the_models_picture_of_a_job():
    written = write_part(Job(id="job-1", call="k-1", tool="t", pictures=(RED,)), dict)
    assert written["pictures"] == [{"mime": "image/png", "width": 30, "height": 20}]


async def test_a_picture_of_a_call_that_the_user_made_goes_out_beside_the_note():
    model = Strict("Nice.")
    page = Page(model, [draw])
    await page.say("/draw")
    await page.say("What is it?")
    note, file = model.requests[0].messages[0].parts
    assert isinstance(note, Text)
    assert note.text.startswith("[Note from the program: the user ran the tool 'draw' with")
    assert isinstance(file, File)
    assert (file.mime, file.data, file.about) == ("image/png", RED.data, page.calls[0].id)


async def test_a_picture_of_a_job_goes_out_beside_the_note_of_its_end():
    done = asyncio.Event()

    @nb.tool(background=True)
    async def paint() -> bytes:
        """Paint."""
        await done.wait()
        return picture()

    model = Strict([call("paint", {})], "It paints.", "A box.")
    page = Page(model, [paint])
    await page.say("Paint")
    ended = asyncio.Event()
    page.session.subscribe(lambda _, state: state.messages[-1].role == "user" and ended.set())
    done.set()
    await asyncio.wait_for(ended.wait(), 20)
    await page.say("And?")
    note, file = model.requests[-1].messages[-2].parts
    assert isinstance(note, Text)
    assert note.text.endswith(f"({RED.mime}, {len(picture())} bytes) was shown to the user.]")
    assert isinstance(file, File)
    assert (file.data, file.about) == (RED.data, "job-1")


def test_a_note_with_a_picture_is_words_for_a_model_that_takes_none():
    job = Job(id="job-1", call="k-1", tool="t", state="result", pictures=(RED,))
    notice = Notice(id="n", text="Done.", told="job-1 is done.", about="job-1")
    history = Conversation(
        messages=(
            *ask(ended("k-1", "Started.")),
            Message(
                id="m-4", role="assistant", parts=(job, Text(id="p-4", text="Ok.")), finish="stop"
            ),
            Message(id="m-5", role="user", parts=(notice,)),
        )
    )
    told = encode("openai-chat", history, model="model")["messages"][-1]["content"]
    assert told == (
        "[Note from the program: job-1 is done.]\n\n"
        "[Note from the program: Pictures are not sent to this model, so you do not see it.]"
    )
    seen = encode("openai-chat", history, model="gpt-5.1")["messages"][-1]["content"]
    assert [part["type"] for part in seen] == ["text", "image_url"]


async def test_pictures_are_saved_and_loaded_and_sent_again(tmp_path: Path):
    model = Strict([call("draw", {}, id="k-1")], "A box.", "Red.")
    chat = nb.Chat(model, tools=[draw], autosave=tmp_path / "chat.json")
    await chat.send("Draw")
    again = nb.Chat.load(tmp_path / "chat.json", model=model, tools=[draw])
    assert again.messages == chat.messages
    await again.send("Which colour?")
    assert again.calls[0].pictures == (RED,)
    assert [seen.data for seen in _pictures(model.requests[-1].messages)] == [RED.data]


@pytest.mark.parametrize(
    "broken",
    [
        {"mime": "image/tiff"},
        {"mime": "image/jpeg"},
        {"data": "%%%"},
        {"data": RED.data[:40]},
        {"data": ""},
        {"width": 31},
    ],
    ids=str,
)
async def test_a_picture_that_a_file_holds_and_no_server_takes_is_left_out(
    tmp_path: Path, broken: dict[str, Any]
):
    path = tmp_path / "chat.json"
    chat = nb.Chat(Strict([call("draw", {}, id="k-1")], "A box."), tools=[draw], autosave=path)
    await chat.send("Draw")
    written = json.loads(path.read_text("utf-8"))
    written["conversation"]["messages"][1]["parts"][0]["pictures"][0] |= broken
    path.write_text(json.dumps(written), "utf-8")
    assert nb.Chat.load(path, model=Strict()).calls[0].pictures == ()


def _pictures(messages: Any) -> list[Picture]:
    return [each for message in messages for part in message.parts for each in _held(part)]


def _held(part: Part) -> tuple[Picture, ...]:
    return part.pictures if isinstance(part, ToolCall) else ()


def test_the_report_counts_pictures_by_their_pixels_and_bytes():
    model = nb.Scripted([call("draw", {"width": 750})], "A box.")
    chat = nb.Chat(model, tools=[draw])
    chat.ask("Draw")
    rows = {row["part"]: row for row in chat.context_report().rows}
    content = picture(750)
    assert (rows["picture"]["name"], rows["picture"]["tokens"]) == ("draw", 20)
    assert rows["picture"]["bytes"] == len(content)
    chat.model = OpenAI("model")
    assert "picture" not in {row["part"] for row in chat.context_report().rows}


def test_a_picture_counts_in_trimming_by_its_pixels_and_not_by_its_bytes():
    bare, seen = ask(ended("k-1", "x"))[1], ask(ended("k-1", "x", given_of(picture(750, 100))))[1]
    assert estimate_tokens(seen) - estimate_tokens(bare) == 100
    sent = File(id="f", mime="image/png", data=text_of(picture(750, 40)))
    assert estimate_tokens(Message(id="m", role="user", parts=(sent,))) == 4 + 40
    unknown = File(id="f", mime="image/webp", data="AAAA")
    assert estimate_tokens(Message(id="m", role="user", parts=(unknown,))) == 4 + 1_600


def test_a_request_holds_the_newest_forty_pictures_and_lets_go_of_ten_at_a_time():
    def sent(count: int) -> list[bool]:
        calls = [ended(f"k-{number}", "A figure.", PIXEL) for number in range(count)]
        history = prepare(Conversation(messages=tuple(ask(*calls))))
        return [bool(_held(part)) for part in history[1].parts]

    assert sent(40) == [True] * 40
    assert sent(41) == [False] * 10 + [True] * 31
    assert sent(50) == [False] * 10 + [True] * 40
    assert sent(51) == [False] * 20 + [True] * 31


def test_of_an_old_picture_the_model_is_told_that_it_is_gone():
    calls = [ended(f"k-{number}", "A figure.", PIXEL) for number in range(41)]
    first = prepare(Conversation(messages=tuple(ask(*calls))))[1].parts[0]
    assert isinstance(first, ToolCall)
    assert first.told == (
        "A figure.\n(Its picture is not sent any more. Call the tool again to see it.)"
    )


def test_a_protected_table_beside_a_figure_is_told_by_its_policy():
    people = pd.DataFrame({"name": ["Ada"], "email": ["ada@example.org"]})

    @nb.tool
    def both() -> list[object]:
        """Give a figure and a table."""
        return [plot(), people]

    chat = nb.Chat(nb.Scripted([call("both", {})], "Seen."), tools=[both])
    chat.share(people=people)
    chat.protect(people={"email": "mask"})
    ended = chat.ask("Show both").calls[0]
    assert "ada@example.org" not in ended.told
    assert "Ada,•••" in ended.told
    assert len(ended.pictures) == 1
