"""Questions that people could ask of the example plugins: the flow that answers each, and the values that it names."""

from dataclasses import dataclass, field

from rightseat.core.types import JsonValue


@dataclass(frozen=True)
class Asked:
    """`values` are those of the flow's first request, defaults left out; None where its first step is none."""

    text: str
    flow: str
    values: dict[str, JsonValue] | None = None
    files: tuple[str, ...] = field(default=())


def now(text: str, **values: JsonValue) -> Asked:
    return Asked(text, "weather.current_weather", values)


def forecast(text: str, **values: JsonValue) -> Asked:
    return Asked(text, "weather.forecast", values)


def cve(text: str, cve_id: str) -> Asked:
    return Asked(text, "host_security.cve_detail", {"cve_id": cve_id})


def scan(text: str, **values: JsonValue) -> Asked:
    return Asked(text, "host_security.scan_host", values)


def convert(text: str, *files: str, **values: JsonValue) -> Asked:
    return Asked(text, "file_convert.convert_document", {"files": [*files], **values}, files)


def inspect(text: str, file: str) -> Asked:
    return Asked(text, "file_convert.inspect_document", {"file": file}, (file,))


def query(text: str) -> Asked:
    return Asked(text, "sales_insight.query_sales")


def chart(text: str) -> Asked:
    return Asked(text, "sales_insight.chart_sales")


QUESTIONS = [
    now("What is the weather in Hangzhou right now?", city="Hangzhou"),
    now("How warm is it in London at the moment?", city="London"),
    now("Current temperature in Chicago in Fahrenheit, please.", city="Chicago", unit="f"),
    now("Is it raining in Oslo now?", city="Oslo"),
    now("Tell me today's humidity in Singapore.", city="Singapore"),
    now("What does it feel like outside in Cairo?", city="Cairo"),
    now("Weather in Berlin now, in celsius.", city="Berlin", unit="c"),
    now("杭州现在多少度？", city="杭州"),
    forecast("Weather forecast for Paris for the next 5 days.", city="Paris", days=5),
    forecast("What will the weather be in Rome this week, all 7 days?", city="Rome", days=7),
    forecast("Give me a 3 day forecast for Madrid.", city="Madrid", days=3),
    forecast("Will it rain in Lisbon in the next 4 days?", city="Lisbon", days=4),
    forecast("Forecast for Beijing.", city="Beijing"),
    forecast("Forecast of 6 days for Toronto please.", city="Toronto", days=6),
    forecast("How will the weather develop in Vienna over 2 days?", city="Vienna", days=2),
    forecast("北京未来三天的天气预报", city="北京", days=3),
    cve("Explain CVE-2024-1086.", "CVE-2024-1086"),
    cve("What is CVE-2023-4911 about?", "CVE-2023-4911"),
    cve("Is there a fix for CVE-2021-44228?", "CVE-2021-44228"),
    cve("Which package does CVE-2014-0160 affect?", "CVE-2014-0160"),
    cve("Score of CVE-2022-0847, please.", "CVE-2022-0847"),
    cve("Tell me about the vulnerability CVE-2024-3094.", "CVE-2024-3094"),
    cve("How severe is CVE-2019-14287?", "CVE-2019-14287"),
    cve("CVE-2024-6387 的修复版本是什么？", "CVE-2024-6387"),
    scan("Start a full scan of host web-01.", host_id="web-01", depth="full"),
    scan("Scan the host db-02.", host_id="db-02"),
    scan("Please run a quick scan on mail-1.", host_id="mail-1", depth="quick"),
    scan("Scan cache-03 again, with full depth.", host_id="cache-03", depth="full"),
    scan("I need a new vulnerability scan of build-7.", host_id="build-7"),
    scan("Full scan of proxy-02 now!", host_id="proxy-02", depth="full"),
    scan("Do a quick scan of host edge-11.", host_id="edge-11", depth="quick"),
    scan("请对主机 web-02 做一次完整扫描", host_id="web-02", depth="full"),
    convert("Convert orders.csv to json.", "orders.csv", target="json"),
    convert("Turn this file into a Markdown table.", "prices.csv", target="md"),
    convert("I want people.json as csv.", "people.json", target="csv"),
    convert("Convert a.csv and b.csv to md.", "a.csv", "b.csv", target="md"),
    convert("Make json of list.csv, which has no header.", "list.csv", target="json", header=False),
    convert("Export notes.md as csv.", "notes.md", target="csv"),
    convert("Change the format of stock.csv to json.", "stock.csv", target="json"),
    convert("把 sales.csv 转换成 json", "sales.csv", target="json"),
    inspect("How many rows does orders.csv have?", "orders.csv"),
    inspect("What columns are in people.csv?", "people.csv"),
    inspect("What kind of file is unknown.json?", "unknown.json"),
    inspect("Describe the structure of prices.csv.", "prices.csv"),
    inspect("Look into stock.csv without converting it.", "stock.csv"),
    inspect("Which columns does this file have?", "list.csv"),
    inspect("Show me what is in notes.md.", "notes.md"),
    inspect("Count the rows of survey.csv.", "survey.csv"),
    inspect("这个文件有哪些列？", "sales.csv"),
    inspect("Type and size of report.json?", "report.json"),
    query("Which product sold best in 2025?"),
    query("What was the total revenue in 2024?"),
    query("List the five largest customers."),
    query("2025 年销售额最高的区域是哪个？"),
    chart("Draw monthly revenue by region for 2025 as a line chart."),
    chart("Show sales by product as a pie chart."),
    chart("Plot a bar chart of orders for each region."),
    chart("用折线图展示 2025 年每月的销售额"),
]
