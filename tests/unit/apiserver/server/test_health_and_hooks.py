"""Health endpoints and hooks without a server around them."""

from __future__ import annotations

import pytest

from controlplane.apiserver.server.health import PING, HealthCheck, HealthEndpoint, delayed
from controlplane.apiserver.server.hooks import HookContext, Hooks
from controlplane.apiserver.server.routes import Route, Router, page_not_found
from controlplane.base.tasks import Owner
from controlplane.client.request import Request, Response
from tests.aio import run
from tests.unit.apiserver.filters.harness import answering, request

BROKEN = HealthCheck("store", lambda: "disk on fire")


def ask(endpoint: HealthEndpoint, path: str) -> tuple[int, str]:
    async def scenario() -> Response:
        handler = endpoint.handle if path.count("/") == 1 else endpoint.handle_one
        return await handler(request(path))

    response = run(scenario())
    return response.status, response.content().decode()


def test_failure_is_always_verbose_and_never_says_why() -> None:
    endpoint = HealthEndpoint("readyz", [PING, BROKEN])
    assert ask(endpoint, "/readyz") == (500, "[+]ping ok\n[-]store failed: reason withheld\nreadyz check failed\n")
    assert ask(endpoint, "/readyz?exclude=store") == (200, "ok")
    assert ask(endpoint, "/readyz/store") == (500, "internal server error: disk on fire\n")
    assert ask(endpoint, "/readyz/ping") == (200, "ok")
    assert ask(endpoint, "/readyz/none") == (404, "404 page not found\n")


def test_first_success_is_told_once() -> None:
    told: list[str] = []
    wrong: list[str] = ["not yet"]
    check = HealthCheck("boot", lambda: wrong[0] if wrong else None)
    endpoint = HealthEndpoint("readyz", [check], on_healthy=lambda: told.append("ready"))
    ask(endpoint, "/readyz")
    assert told == []
    wrong.clear()
    ask(endpoint, "/readyz")
    ask(endpoint, "/readyz")
    assert told == ["ready"]


def test_grace() -> None:
    grace = [True]
    endpoint = HealthEndpoint("livez", [delayed(BROKEN, lambda: grace[0])])
    assert ask(endpoint, "/livez")[0] == 200
    grace[0] = False
    assert ask(endpoint, "/livez")[0] == 500


def test_names_are_unique() -> None:
    with pytest.raises(ValueError, match="occur twice: ping"):
        HealthEndpoint("livez", [PING, PING])


def test_hooks_run_and_are_checks_until_they_have_finished() -> None:
    async def scenario() -> None:
        hooks = Hooks(disabled=frozenset({"off"}))
        ran: list[str] = []

        async def hook(_: HookContext) -> None:
            ran.append("on")

        hooks.add_post_start("on", hook, by="a")
        hooks.add_post_start("off", hook, by="a")
        hooks.seal()
        (check,) = hooks.checks()
        assert (check.name, check.probe()) == ("poststarthook/on", "not finished")
        owner = Owner("test")
        hooks.start(HookContext(lambda _: None, owner), owner)  # type: ignore[arg-type,return-value]  # unused
        await hooks.finished()
        assert (ran, check.probe()) == (["on"], None)
        await owner.close()

    run(scenario())


def test_pre_shutdown_hooks_all_run(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> list[str]:
        hooks, ran = Hooks(), []

        async def failing() -> None:
            ran.append("a")
            raise RuntimeError("no")

        async def fine() -> None:
            ran.append("b")

        hooks.add_pre_shutdown("a", failing, by="t")
        hooks.add_pre_shutdown("b", fine, by="t")
        await hooks.shut_down()
        return ran

    assert run(scenario()) == ["a", "b"]
    assert "pre-shutdown hook failed" in caplog.text


def found(router: Router, path: str) -> str:
    async def scenario() -> str:
        return (await router.handle(request(path))).content().decode()

    return run(scenario())


def test_order_of_paths() -> None:
    def named(name: str) -> Route:
        return Route(name, answering(Response(200, name.encode())), prefix=name.endswith("/") and name != "/")

    router = Router(
        [named("/a"), named("/a/"), named("/a/b/"), named("/")],
        resources=answering(Response(200, b"resource")),
        discovery=lambda r: Response(200, b"discovery") if r.path.strip("/") == "apis" else None,
        complete=lambda: True,
    )
    assert {path: found(router, path) for path in ("/a", "/a/x", "/a/b/c", "/", "/apis", "/api/v1/pods")} == {
        "/a": "/a",
        "/a/x": "/a/",
        "/a/b/c": "/a/b/",
        "/": "/",
        "/apis": "discovery",
        "/api/v1/pods": "resource",
    }
    for path in ("/none", "//apis", "//api/v1/pods"):
        assert found(router, path) == page_not_found().content().decode()


def test_unknown_path_before_all_sources_are_heard() -> None:
    async def scenario(_: Request) -> Response:
        raise AssertionError

    router = Router([], resources=scenario, discovery=lambda _: None, complete=lambda: False)
    with pytest.raises(Exception, match="before all known HTTP paths have been installed") as caught:
        found(router, "/none")
    assert getattr(caught.value, "retry_after_seconds", 0) == 5


def test_path_routed_twice() -> None:
    route = Route("/a", answering())
    with pytest.raises(ValueError, match="routed twice: /a"):
        Router([route, route], resources=answering(), discovery=lambda _: None, complete=lambda: True)
