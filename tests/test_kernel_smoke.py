"""The kernel driver itself, before nbtools is trusted with anything."""

from __future__ import annotations

import pytest

from tests.lab.kernel import Kernel
from tests.lab.kernels import ALL_KERNELS

pytestmark = pytest.mark.kernel

WIDGET = """
import anywidget

class Echo(anywidget.AnyWidget):
    _esm = "export default { render() {} }"

echo = Echo()
echo.on_msg(lambda widget, content, buffers: widget.send({"heard": content}))
"""


@pytest.mark.parametrize("kernel", ALL_KERNELS)
def test_a_widget_hears_a_custom_message_and_answers(kernel):
    with Kernel(kernel) as session:
        assert not session.run(WIDGET).failed
        comm = session.run("print(echo.model_id, end='')").text
        session.send(comm, {"word": "hello"})
        session.pump(lambda: session.comms[-1].kind == "comm_msg")
        assert session.comms[-1].data == {
            "method": "custom",
            "content": {"heard": {"word": "hello"}},
        }


def test_code_that_asks_is_answered():
    with Kernel(answer=lambda prompt: f"{prompt} yes") as session:
        assert session.run("print(input('sure?'))").text == "sure? yes\n"


def test_code_that_asks_where_nobody_is_there_fails_at_once():
    with Kernel() as session:
        reply = session.run("input('sure?')")
    assert reply.failed
    assert reply.text.startswith("StdinNotImplementedError: ")


def test_an_interrupt_ends_running_code():
    with Kernel() as session:
        message = session.start("import time; print('begun', flush=True); time.sleep(60)")
        session.pump(lambda: session.text(message) == "begun\n")
        session.interrupt()
        assert session.finish(message, 20).text == "begun\nKeyboardInterrupt: "
