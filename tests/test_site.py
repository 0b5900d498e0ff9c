"""The built site in a real browser: nothing is cut off, search and links work, code can be copied.

Needs the site (`make doc`), Chromium with its driver, and selenium; without them it is skipped.
"""

import functools
import http.server
import shutil
import threading
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest

SITE = Path(__file__).parents[1] / "doc" / "_build"
PAGES = [
    "index.html", "install.html", "faq.html", "benchmarks.html", "benchmarks/index.html",
    "guide/index.html", "guide/svm.html", "guide/choosing.html", "guide/your_file.html",
    "guide/screening.html", "guide/novelty.html", "guide/concepts.html", "guide/exporting.html",
    "guide/glossary.html", "coming_from/svc.html", "api/index.html", "auto_examples/index.html",
    "generated/skscreen.ScreenedSVC.html", "changes.html",
]  # fmt: skip
OPTIONS = (
    "--headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars"
)
pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="the site is not built"),
    pytest.mark.skipif(shutil.which("chromedriver") is None, reason="no Chromium with its driver"),
]


@pytest.fixture(scope="module")
def site():
    """The address of the built site."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=SITE)
    handler.log_message = lambda *_: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("chromium-browser")
    for option in [*OPTIONS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(option)
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_script_timeout(30)
    yield driver
    driver.quit()


def at_width(browser, width: int, address: str) -> None:
    """Show a page in a window of `width` CSS pixels."""
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(address)


@pytest.mark.parametrize("width", [1300, 390])
@pytest.mark.parametrize("page", PAGES)
def test_pages_do_not_scroll_sideways(site, browser, page, width):
    at_width(browser, width, site + page)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("page", PAGES)
def test_pictures_are_there_and_links_lead_somewhere(site, browser, page):
    at_width(browser, 1300, site + page)
    broken = browser.execute_script(
        "return [...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
    )
    assert broken == []
    links = browser.execute_script("return [...document.links].map(a => a.href)")
    for link in {link for link in links if link.startswith(site)}:
        address, fragment = urldefrag(urljoin(site, link))
        file = SITE / (address.removeprefix(site).split("?")[0] or "index.html")
        assert file.exists(), f"{page} links to {link}"
        if fragment and file.suffix == ".html":
            assert f'id="{fragment}"' in file.read_text(encoding="utf-8"), f"{page} links to {link}"


def test_search_finds_a_class(site, browser):
    at_width(browser, 1300, site + "search.html?q=ScreenedSVC")
    from selenium.webdriver.support.ui import WebDriverWait

    found = "return [...document.querySelectorAll('ul.search li a')].map(a => a.href)"
    WebDriverWait(browser, 30).until(lambda driver: driver.execute_script(found))
    assert any("ScreenedSVC" in link for link in browser.execute_script(found))


def test_blocks_of_code_can_be_copied(site, browser):
    """Text that is selected in a block is the code alone, without prompts or numbers of lines."""
    at_width(browser, 1300, site + "guide/choosing.html")
    code = browser.execute_script(
        "const pre = document.querySelector('div.highlight-python pre');"
        "getSelection().selectAllChildren(pre); return getSelection().toString();"
    )
    compile(code, "block", "exec")
    assert code.startswith("from sklearn")
