"""A channel against a server that does what it should not, over real sockets."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from struct import pack

import pytest

from controlplane.base.grpc import Channel, Code, RpcError
from controlplane.base.grpc.call import STREAM_WINDOW_BYTES
from controlplane.base.grpc.connection import MAX_STREAM_ID
from controlplane.base.grpc.frames import (
    ACK,
    DATA,
    END_STREAM,
    GOAWAY,
    HEADERS,
    MAX_FRAME_BYTES,
    PING,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    ErrorCode,
    Setting,
    frame,
    settings_payload,
)
from controlplane.base.grpc.keepalive import Keepalive
from controlplane.base.grpc.messages import prefixed
from controlplane.base.tls.issue import issue_ca, issue_serving, new_key
from tests.aio import run
from tests.processes import free_port
from tests.unit.base.grpc.peer import Peer, answer, peer_server, started, trailers

PATH = "/service/Method"
SLOW = 20.0


def served(
    script: Callable[[Peer], Awaitable[None]],
    client: Callable[[Channel], Awaitable[None]],
    settings: dict[Setting, int] | None = None,
    keepalive: Keepalive | None = None,
) -> None:
    """Run both ends to the end of the client's."""

    async def body() -> None:
        async with peer_server(script, settings) as target:
            channel = Channel(target, None, keepalive or Keepalive())
            try:
                await client(channel)
            finally:
                await channel.close()

    run(body(), seconds=30)


async def failure(call: Awaitable[object]) -> RpcError:
    with pytest.raises(RpcError) as raised:
        await call
    return raised.value


def test_a_call_is_headers_one_message_and_an_answer() -> None:
    async def script(peer: Peer) -> None:
        headers = await peer.receive(HEADERS)
        fields = peer.decode(headers)
        assert (fields[":path"], fields["te"], fields["content-type"]) == (PATH, "trailers", "application/grpc")
        assert 19_000 < int(fields["grpc-timeout"].removesuffix("m")) <= 20_000
        data = await peer.receive(DATA)
        assert (data.payload, data.flags) == (prefixed(b"ask"), END_STREAM)
        peer.send(answer(headers.stream_id, b"told"))
        await peer.closed()

    async def client(channel: Channel) -> None:
        assert await channel.unary(PATH, b"ask", SLOW) == b"told"

    served(script, client)


def test_calls_of_one_turn_are_answered_in_any_order() -> None:
    async def script(peer: Peer) -> None:
        asked = [await peer.request() for _ in range(20)]
        peer.send(*(answer(stream_id, data[5:]) for stream_id, data in reversed(asked)))
        await peer.closed()

    async def client(channel: Channel) -> None:
        messages = [b"%d" % number for number in range(20)]
        assert await asyncio.gather(*(channel.unary(PATH, each, SLOW) for each in messages)) == messages

    served(script, client)


def test_a_large_message_keeps_to_the_servers_windows() -> None:
    """Stream windows of 1,000 bytes, then the connection's of 65,535, each widened by hand."""
    message = bytes(range(256)) * 1000

    async def script(peer: Peer) -> None:
        whole = len(prefixed(message))
        headers = await peer.receive(HEADERS)
        received, stream_window, window, flags = b"", 1000, 65_535, 0
        while len(received) < whole:
            data = await peer.receive(DATA)
            assert len(data.payload) <= MAX_FRAME_BYTES
            received += data.payload
            flags = data.flags
            stream_window -= len(data.payload)
            window -= len(data.payload)
            assert stream_window >= 0
            assert window >= 0
            if stream_window == 0:
                peer.send(frame(WINDOW_UPDATE, 0, headers.stream_id, pack(">L", 30_000)))
                stream_window = 30_000
            if window == 0:
                peer.send(frame(WINDOW_UPDATE, 0, 0, pack(">L", 50_000)))
                window = 50_000
        assert received == prefixed(message)
        assert flags == END_STREAM
        peer.send(answer(headers.stream_id, b""))
        await peer.closed()

    async def client(channel: Channel) -> None:
        assert await channel.unary(PATH, message, SLOW) == b""

    served(script, client, {Setting.INITIAL_WINDOW_SIZE: 1000})


def test_a_call_whose_window_is_empty_holds_up_no_other_and_goes_on_when_settings_widen_it() -> None:
    async def script(peer: Peer) -> None:
        blocked = await peer.receive(HEADERS)
        assert (await peer.receive(DATA)).payload == prefixed(bytes(100))[:10]
        stream_id, data = await peer.request()
        assert data == prefixed(b"abcde")
        peer.send(answer(stream_id, b"small"))
        peer.send(frame(SETTINGS, 0, 0, settings_payload({Setting.INITIAL_WINDOW_SIZE: 5})))
        peer.send(frame(SETTINGS, 0, 0, settings_payload({Setting.INITIAL_WINDOW_SIZE: 1000})))
        data = (await peer.receive(DATA)).payload
        assert len(data) == 95
        peer.send(answer(blocked.stream_id, b"large"))
        await peer.closed()

    async def client(channel: Channel) -> None:
        large = asyncio.ensure_future(channel.unary(PATH, bytes(100), SLOW))
        await asyncio.sleep(0)
        assert await channel.unary(PATH, b"abcde", SLOW) == b"small"
        assert await large == b"large"

    served(script, client, {Setting.INITIAL_WINDOW_SIZE: 10})


def test_only_so_many_calls_are_open_at_once_as_the_server_takes() -> None:
    async def script(peer: Peer) -> None:
        for _ in range(5):
            stream_id, data = await peer.request()
            await asyncio.sleep(0.01)
            assert peer._arrived == []
            peer.send(answer(stream_id, data[5:]))
        await peer.closed()

    async def client(channel: Channel) -> None:
        calls = [asyncio.ensure_future(channel.unary(PATH, b"%d" % n, SLOW)) for n in range(6)]
        await asyncio.sleep(0.001)
        calls[3].cancel()
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert [each for each in answers if isinstance(each, bytes)] == [b"0", b"1", b"2", b"4", b"5"]

    served(script, client, {Setting.MAX_CONCURRENT_STREAMS: 1})


def test_a_call_that_waits_for_its_turn_past_its_deadline_was_not_sent() -> None:
    async def script(peer: Peer) -> None:
        await peer.closed()

    async def client(channel: Channel) -> None:
        error = await failure(channel.unary(PATH, b"", 0.05))
        assert (error.code, error.unsent) == (Code.DEADLINE_EXCEEDED, True)

    served(script, client, {Setting.MAX_CONCURRENT_STREAMS: 0})


def test_a_deadline_and_a_cancellation_reset_the_stream() -> None:
    resets: list[int] = []

    async def script(peer: Peer) -> None:
        for _ in range(2):
            reset = await peer.receive(RST_STREAM)
            assert reset.payload == pack(">L", ErrorCode.CANCEL)
            resets.append(reset.stream_id)
        peer.send(answer(1, b"late"), answer(3, b"late"))
        stream_id, _ = await peer.request()
        peer.send(answer(stream_id, b"next"))
        await peer.closed()

    async def client(channel: Channel) -> None:
        error = await failure(channel.unary(PATH, b"", 0.05))
        assert (error.code, error.unsent) == (Code.DEADLINE_EXCEEDED, False)
        call = asyncio.ensure_future(channel.unary(PATH, b"", SLOW))
        await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await channel.unary(PATH, b"", SLOW) == b"next"

    served(script, client)
    assert resets == [1, 3]


def test_what_goaway_says_was_not_looked_at_is_asked_again_on_a_new_connection() -> None:
    connections: list[int] = []

    async def script(peer: Peer) -> None:
        connections.append(len(connections))
        if connections[-1]:
            stream_id, data = await peer.request()
            peer.send(answer(stream_id, b"second " + data[5:]))
        else:
            first, _ = await peer.request()
            await peer.request()
            peer.send(frame(GOAWAY, 0, 0, pack(">LL", first, 0) + b"restart"))
            await asyncio.sleep(0.05)
            peer.send(answer(first, b"first"))
        await peer.closed()

    async def client(channel: Channel) -> None:
        calls = [asyncio.ensure_future(channel.unary(PATH, each, SLOW)) for each in (b"a", b"b")]
        assert await asyncio.gather(*calls) == [b"first", b"second b"]

    served(script, client)
    assert connections == [0, 1]


def test_a_refused_call_is_tried_once_more_and_then_raises() -> None:
    async def script(peer: Peer) -> None:
        for number in range(4):
            stream_id, _ = await peer.request()
            refuse = frame(RST_STREAM, 0, stream_id, pack(">L", ErrorCode.REFUSED_STREAM))
            peer.send(answer(stream_id, b"done") if number == 1 else refuse)
        await peer.closed()

    async def client(channel: Channel) -> None:
        assert await channel.unary(PATH, b"", SLOW) == b"done"
        error = await failure(channel.unary(PATH, b"", SLOW))
        assert (error.code, error.unsent) == (Code.UNAVAILABLE, True)

    served(script, client)


def test_a_lost_connection_fails_what_is_under_way_and_another_is_made() -> None:
    connections: list[int] = []

    async def script(peer: Peer) -> None:
        connections.append(1)
        stream_id, _ = await peer.request()
        if len(connections) > 1:
            peer.send(answer(stream_id, b"again"))
            await peer.closed()

    async def client(channel: Channel) -> None:
        error = await failure(channel.unary(PATH, b"", SLOW))
        assert (error.code, error.unsent) == (Code.UNAVAILABLE, False)
        assert await channel.unary(PATH, b"", SLOW) == b"again"

    served(script, client)


def test_when_all_stream_numbers_are_used_up_another_connection_is_made() -> None:
    connections: list[int] = []

    async def script(peer: Peer) -> None:
        connections.append(1)
        asked = [await peer.request() for _ in range(2 if len(connections) == 1 else 1)]
        await asyncio.sleep(0.02)
        peer.send(*(answer(stream_id, data[5:]) for stream_id, data in asked))
        await peer.closed()

    async def client(channel: Channel) -> None:
        (await channel._connected(1))._next_id = MAX_STREAM_ID - 2
        answers = await asyncio.gather(*(channel.unary(PATH, b"%d" % n, SLOW) for n in range(3)))
        assert answers == [b"0", b"1", b"2"]

    served(script, client)
    assert len(connections) == 2


def test_a_connection_whose_numbers_are_used_up_ends_when_its_waiting_calls_have_gone_elsewhere() -> None:
    async def script(peer: Peer) -> None:
        while True:
            stream_id, data = await peer.request()
            peer.send(answer(stream_id, b"%d" % stream_id + data[5:]))

    async def checked(peer: Peer) -> None:
        with pytest.raises(AssertionError, match="closed the connection"):
            await script(peer)

    async def client(channel: Channel) -> None:
        first = await channel._connected(1)
        first._next_id = MAX_STREAM_ID
        answers = await asyncio.gather(*(channel.unary(PATH, b"", SLOW) for _ in range(3)))
        assert answers == [b"%d" % MAX_STREAM_ID, b"1", b"3"]
        await first.closed
        assert channel._current is not first

    served(checked, client, {Setting.MAX_CONCURRENT_STREAMS: 1})


def test_a_server_that_falls_silent_is_pinged_and_given_up() -> None:
    pings: list[bytes] = []

    async def script(peer: Peer) -> None:
        while True:
            ping = await peer.receive(PING)
            pings.append(ping.payload)
            if len(pings) < 3:
                peer.send(frame(PING, ACK, 0, ping.payload))

    async def client(channel: Channel) -> None:
        begin = time.monotonic()
        error = await failure(channel.unary(PATH, b"", SLOW))
        assert (error.code, error.unsent) == (Code.UNAVAILABLE, False)
        assert "no sign of life" in error.details
        assert time.monotonic() - begin < 3

    async def checked(peer: Peer) -> None:
        with pytest.raises(AssertionError, match="closed the connection"):
            await script(peer)

    served(checked, client, keepalive=Keepalive(0.1, 0.2))
    assert len(pings) == 3


def test_without_calls_nobody_is_pinged() -> None:
    async def script(peer: Peer) -> None:
        stream_id, _ = await peer.request()
        peer.send(answer(stream_id, b""))
        assert [each.kind for each in await peer.closed() if each.kind == PING] == []

    async def client(channel: Channel) -> None:
        await channel.unary(PATH, b"", SLOW)
        await asyncio.sleep(0.2)

    served(script, client, keepalive=Keepalive(0.02, 0.02))


def test_a_stream_carries_messages_both_ways_and_ends_with_its_status() -> None:
    async def script(peer: Peer) -> None:
        headers = await peer.receive(HEADERS)
        fields = peer.decode(headers)
        assert fields["hasleader"] == "true"
        assert "grpc-timeout" not in fields
        stream_id = headers.stream_id
        assert (await peer.receive(DATA)).payload == prefixed(b"ask")
        several = prefixed(b"one") + prefixed(b"") + prefixed(b"three")
        peer.send(started(stream_id), frame(DATA, 0, stream_id, several[:14]), frame(DATA, 0, stream_id, several[14:]))
        peer.send(trailers(stream_id, "14", "no%20leader"))
        reset = await peer.receive(RST_STREAM)  # our side was open still
        assert reset.payload == pack(">L", ErrorCode.NO_ERROR)
        await peer.closed()

    async def client(channel: Channel) -> None:
        stream = await channel.stream(PATH, (("hasleader", "true"),), seconds=1)
        stream.send(b"ask")
        assert [await stream.read() for _ in range(3)] == [b"one", b"", b"three"]
        for _ in range(2):
            error = await failure(stream.read())
            assert (error.code, error.details) == (Code.UNAVAILABLE, "no leader")
        with pytest.raises(RpcError):
            stream.send(b"more")
        stream.cancel()

    served(script, client)


def test_giving_up_a_read_loses_nothing() -> None:
    async def script(peer: Peer) -> None:
        headers = await peer.receive(HEADERS)
        peer.send(started(headers.stream_id))
        await peer.receive(DATA)
        peer.send(frame(DATA, 0, headers.stream_id, prefixed(b"late")), trailers(headers.stream_id))
        await peer.closed()

    async def client(channel: Channel) -> None:
        stream = await channel.stream(PATH, seconds=1)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await stream.read()
        stream.send(b"")
        assert await stream.read() == b"late"
        assert await stream.read() is None

    served(script, client)


def test_a_stream_that_nobody_reads_stops_the_server_and_no_other_call() -> None:
    part = prefixed(bytes(16_000))

    async def script(peer: Peer) -> None:
        headers = await peer.receive(HEADERS)
        await peer.receive(DATA)
        peer.send(started(headers.stream_id))
        for _ in range(STREAM_WINDOW_BYTES // len(part)):
            peer.send(frame(DATA, 0, headers.stream_id, part))
        stream_id, _ = await peer.request()
        assert not [each for each in peer._arrived if each.kind == WINDOW_UPDATE and each.stream_id]
        peer.send(answer(stream_id, b"other"))
        update = await peer.receive(WINDOW_UPDATE)
        assert update.stream_id == headers.stream_id
        peer.send(frame(DATA, 0, headers.stream_id, part), trailers(headers.stream_id))
        await peer.closed()

    async def client(channel: Channel) -> None:
        stream = await channel.stream(PATH, seconds=1)
        stream.send(b"")
        assert await channel.unary(PATH, b"", SLOW) == b"other"
        sizes = []
        while (message := await stream.read()) is not None:
            sizes.append(len(message))
        assert sizes == [16_000] * (STREAM_WINDOW_BYTES // len(part) + 1)

    served(script, client)


def test_a_message_larger_than_the_window_is_credited_as_it_arrives() -> None:
    message = bytes(3 * STREAM_WINDOW_BYTES)

    async def script(peer: Peer) -> None:
        stream_id, _ = await peer.request()
        peer.send(started(stream_id))
        data, window = prefixed(message), STREAM_WINDOW_BYTES
        while data:
            size = min(MAX_FRAME_BYTES, window, len(data))
            if not size:
                update = await peer.receive(WINDOW_UPDATE)
                assert update.stream_id == stream_id
                window += int.from_bytes(update.payload, "big")
                continue
            peer.send(frame(DATA, 0, stream_id, data[:size]))
            data, window = data[size:], window - size
        peer.send(trailers(stream_id))
        await peer.closed()

    async def client(channel: Channel) -> None:
        assert await channel.unary(PATH, b"", SLOW) == message

    served(script, client)


def test_nobody_there_fails_at_once_and_later_calls_too() -> None:
    async def body() -> None:
        channel = Channel(f"127.0.0.1:{free_port()}", None)
        begin = time.monotonic()
        for _ in range(5):
            error = await failure(channel.unary(PATH, b"", SLOW))
            assert (error.code, error.unsent) == (Code.UNAVAILABLE, True)
            assert "failed to connect to 127.0.0.1" in error.details
        assert time.monotonic() - begin < 1
        await channel.close()
        assert "closed" in (await failure(channel.unary(PATH, b"", SLOW))).details
        await channel.close()

    run(body())


def test_a_server_that_appears_later_is_found_without_a_call() -> None:
    async def body() -> None:
        port = free_port()
        channel = Channel(f"127.0.0.1:{port}", None)
        await failure(channel.unary(PATH, b"", SLOW))

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(frame(SETTINGS, 0, 0))
            while await reader.read(1000):
                pass
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", port)
        async with asyncio.timeout(5):
            while channel._current is None:
                await channel._attempted.wait()
                await asyncio.sleep(0.01)
        await channel.close()
        server.close()

    run(body())


@pytest.mark.parametrize(
    ("says", "why"),
    [
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", "broke the protocol", id="HTTP/1.1"),
        pytest.param(b"", "closed the connection", id="closes at once"),
        pytest.param(frame(PING, 0, 0, bytes(8)), "not its settings", id="no settings"),
    ],
)
def test_something_else_listens_there(says: bytes, why: str) -> None:
    async def body() -> None:
        async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(says)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        channel = Channel(f"127.0.0.1:{server.sockets[0].getsockname()[1]}", None)
        error = await failure(channel.unary(PATH, b"", SLOW))
        assert error.unsent
        assert why in error.details
        await channel.close()
        server.close()

    run(body())


def test_closing_fails_what_is_under_way_and_what_waits_for_a_connection() -> None:
    async def body() -> None:
        connected = asyncio.Event()

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connected.set()
            while await reader.read(1000):
                pass
            writer.close()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        channel = Channel(f"127.0.0.1:{server.sockets[0].getsockname()[1]}", None)
        call = asyncio.ensure_future(channel.unary(PATH, b"", SLOW))
        await connected.wait()
        await channel.close()
        error = await failure(call)
        assert (error.details, error.unsent) == ("the channel is closed", True)
        server.close()

    async def script(peer: Peer) -> None:
        await peer.closed()

    async def client(channel: Channel) -> None:
        call = asyncio.ensure_future(channel.unary(PATH, b"", SLOW))
        await channel._connected(1)
        await asyncio.sleep(0)
        await channel.close()
        error = await failure(call)
        assert (error.details, error.unsent) == ("the channel is closed", False)

    run(body())
    served(script, client)


@pytest.mark.parametrize(
    ("protocols", "names", "says"),
    [
        pytest.param(["h2"], ["127.0.0.1"], "", id="good"),
        pytest.param(["http/1.1"], ["127.0.0.1"], "does not offer HTTP/2", id="no HTTP/2"),
        pytest.param(["h2"], ["other.example"], "certificate verify failed", id="another name"),
    ],
)
def test_tls_is_verified_and_must_offer_http_2(
    protocols: list[str], names: list[str], says: str, tmp_path: Path
) -> None:
    ca_key, key = new_key(), new_key()
    ca = issue_ca(ca_key, "ca", time.time()), ca_key
    (tmp_path / "ca.crt").write_bytes(ca[0])
    (tmp_path / "both.pem").write_bytes(issue_serving(key, ca, names, time.time()) + key)
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(tmp_path / "both.pem")
    server_side.set_alpn_protocols(protocols)
    client_side = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client_side.load_verify_locations(tmp_path / "ca.crt")
    client_side.set_alpn_protocols(["h2"])

    async def script(peer: Peer) -> None:
        if says:
            await peer.closed()
            return
        headers = await peer.receive(HEADERS)
        assert peer.decode(headers)[":scheme"] == "https"
        await peer.receive(DATA)
        peer.send(answer(headers.stream_id, b"told"))
        await peer.closed()

    async def body() -> None:
        async with peer_server(script, tls=server_side) as target:
            channel = Channel(target, client_side)
            if says:
                error = await failure(channel.unary(PATH, b"", SLOW))
                assert error.unsent
                assert says in error.details
            else:
                assert await channel.unary(PATH, b"", SLOW) == b"told"
            await channel.close()

    run(body())
