"""Names of headers that only proxies add, and of those that browsers and programs send by themselves."""

from __future__ import annotations

OF_PROXIES = (
    "X-Original-Forwarded-For", "X-Forward-For", "X_Forwarded_For", "Forwarded-For",
    "X-Forwarded-Client-Cert", "X-Remote-Addr", "Remote-Addr", "X-Remote-IP", "X-Remote-User",
    "X-ProxyUser-Ip", "Proxy-Client-IP", "WL-Proxy-Client-IP", "Proxy-Connection", "X-Client-IP",
    "Client-IP", "X-ClientIP", "X-Cluster-Client-IP", "True-Client-IP", "Fastly-Client-IP",
    "Fly-Client-IP", "X-Azure-ClientIP", "X-Azure-SocketIP", "X-Appengine-User-Ip",
    "x-vercel-forwarded-for", "x-vercel-id", "ngrok-trace-id", "Ngrok-Auth-User-Email",
    "Akamai-Origin-Hop", "X-Original-Host", "X-Original-URL", "X-Rewrite-URL",
    "X-Envoy-External-Address", "X-Amzn-Trace-Id", "X-Amz-Cf-Id", "X-Arr-Log-Id",
    "X-Nf-Client-Connection-Ip", "Cloudfront-Viewer-Address", "CF-Ray", "CF-Visitor", "CDN-Loop",
    "Front-End-Https", "Max-Forwards",
)  # fmt: skip
SENT_BY_PROGRAMS = (
    "Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Cache-Control", "Connection",
    "Cookie", "Content-Length", "Content-Type", "DNT", "Expect", "If-Modified-Since", "If-None-Match",
    "Last-Event-ID", "MCP-Protocol-Version", "Mcp-Session-Id", "Origin-Agent-Cluster", "Pragma",
    "Priority", "Range", "Referer", "Save-Data", "Sec-CH-UA", "Sec-CH-UA-Platform", "Sec-Fetch-Dest",
    "Sec-Fetch-User", "Sec-GPC", "TE", "Sec-WebSocket-Extensions", "Sec-WebSocket-Key",
    "Sec-WebSocket-Protocol", "Sec-WebSocket-Version", "Traceparent", "Upgrade",
    "Upgrade-Insecure-Requests", "User-Agent", "X-Request-ID", "X-Requested-With", "X-Streamlit-User",
    "X-Xsrftoken", "Access-Control-Request-Private-Network", "Ship", "Recipient",
)  # fmt: skip
BEHIND_A_PROXY = (
    ("X-Forwarded-For", "100.64.0.2"),
    ("X-Forwarded-For", "127.0.0.1"),
    ("X-Forwarded-Host", "localhost:8501"),
    ("X-Forwarded-Proto", "https"),
    ("X-Forwarded", "for=127.0.0.1"),
    ("Forwarded", "for=127.0.0.1"),
    ("Via", "1.1 proxy"),
    ("X-Real-IP", "127.0.0.1"),
    ("Tailscale-User-Login", "owner@example.com"),
    ("Tailscale-Funnel-Request", "?1"),
    ("CF-Connecting-IP", "127.0.0.1"),
)
"""Such headers with what they claim."""
