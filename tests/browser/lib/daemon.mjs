// SPDX-License-Identifier: Apache-2.0
// A daemon for the tests, by the same fixture as tests/api has, and an agent that talks to it over HTTP and MCP.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const FIXTURE = fileURLToPath(new URL("daemon.py", import.meta.url));

export class Daemon {
  /** Starts one; `config` are lines of YAML. */
  static async start(config = "", flags = []) {
    const daemon = new Daemon();
    daemon.child = spawn("/usr/bin/python3", [FIXTURE], { stdio: ["pipe", "pipe", "inherit"] });
    daemon.lines = createInterface({ input: daemon.child.stdout })[Symbol.asyncIterator]();
    daemon.ended = new Promise((done) => daemon.child.on("close", done));
    await daemon.ask({ config, flags });
    daemon.isUp = true;
    return daemon;
  }

  async ask(order) {
    this.child.stdin.write(JSON.stringify(order) + "\n");
    const { value, done } = await this.lines.next();
    if (done) throw new Error("the daemon's fixture ended without an answer");
    const answer = JSON.parse(value);
    if (answer.error) throw new Error(answer.error);
    Object.assign(this, answer);
    return answer;
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The daemon dies as in a crash, and the next one has the same address: the page knows no other. */
  kill9() {
    this.isUp = false;
    return this.ask({ do: "kill9" });
  }

  async again() {
    await this.ask({ do: "start" });
    this.isUp = true;
  }

  /** A graceful stop, after which nothing may be left; throws where something is. */
  async stop() {
    try {
      await this.ask({ do: "stop" });
    } finally {
      this.child.stdin.end();
      await this.ended;
    }
  }
}

/** Another client: a program that uses the daemon while a person looks at the page. */
export class Agent {
  constructor(daemon, { token = "", client = "robot" } = {}) {
    this.daemon = daemon;
    this.headers = { "Content-Type": "application/json", "Vivarium-Client": client };
    if (token) this.headers["Authorization"] = `Bearer ${token}`;
  }

  async call(method, path, body) {
    const answer = await fetch(this.daemon.url + path, {
      method, headers: this.headers, body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 500)}`);
    return text ? JSON.parse(text) : null;
  }

  session(name) {
    return this.call("POST", "/v1/sessions", { name });
  }

  run(session, code, more = {}) {
    return this.call("POST", `/v1/sessions/${session.id}/run`, { code, ...more });
  }

  /** The sessions of all conversations, as the daemon has them. */
  async sessions() {
    return (await this.call("GET", "/v1/sessions")).sessions;
  }

  /** A `tools/call` of an MCP client that says who it is; an answer that takes long comes as a stream. */
  async tool(name, args) {
    const meta = "io.modelcontextprotocol/";
    const version = "2026-07-28";
    const answer = await fetch(this.daemon.url + "/mcp", {
      method: "POST",
      headers: {
        ...this.headers, Accept: "application/json, text/event-stream",
        "MCP-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": name,
        ...(args.session_id ? { "Mcp-Param-Session-Id": args.session_id } : {}),
      },
      body: JSON.stringify({
        jsonrpc: "2.0", id: 1, method: "tools/call",
        params: {
          name, arguments: args,
          _meta: {
            [meta + "protocolVersion"]: version, [meta + "clientCapabilities"]: {},
            [meta + "clientInfo"]: { name: "mcp-robot", version: "1" },
          },
        },
      }),
    });
    const text = await answer.text();
    const last = text.split("\n").filter((line) => line.startsWith("data: ")).at(-1)?.slice(6) ?? text;
    const message = JSON.parse(last);
    if (message.error) throw new Error(message.error.message);
    return message.result;
  }
}
