/** Conversations in every state that a chat can be in, to be looked at. */

import type { Conversation, Message, Part, ToolCall } from "../src/protocol";

type Call = Partial<ToolCall> & { id: string; tool: string };

const call = (fields: Call): Part => ({ type: "tool-call", ...fields });
const text = (id: string, written: string): Part => ({ type: "text", id, text: written });
const user = (id: string, written: string): Message => ({
  id,
  role: "user",
  parts: [text(`${id}t`, written)],
});
const answer = (id: string, parts: Part[], fields: Partial<Message> = {}): Message => ({
  id,
  role: "assistant",
  finish: "stop",
  parts,
  ...fields,
});

const MARKDOWN = `The table has **1,204 rows**; \`where\` matched 37 of them.

## What was removed

1. Orders without an amount
2. Orders *before* 2019
   - cancelled
   - refunded

| region | rows | share |
|:--|--:|--:|
| north | 21 | 57 % |
| south | 16 | 43 % |

\`\`\`python
orders = orders[orders.amount > 0]
orders.groupby("region").size()
\`\`\`

> Rows are gone from memory only; the file is as it was.

- [x] checked
- [ ] saved

See [the manual](https://pandas.pydata.org/docs/) and ![a chart](https://example.org/beacon.png?q=1). <b>Not bold.</b>`;

const ARGS = { table: "orders", where: "amount <= 0 or amount is null", limit: 50 };
const START = 1_750_000_000;
const TABLE = `   region  amount
0  north     120
1  south      80
2   east      64`;
const PICTURE = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 120" width="320" height="120"><rect width="320" height="120" fill="#fff"/><path d="M10 100L60 60L110 80L160 30L210 50L260 20L310 40" fill="none" stroke="#1f77b4" stroke-width="2"/></svg>`;

const done = (id: string, fields: Partial<ToolCall> = {}): Part =>
  call({
    id,
    tool: "drop_rows",
    state: "result",
    outcome: "ok",
    args: ARGS,
    value: 37,
    started: START,
    ended: START + 0.34,
    ...fields,
  });

const failed = (id: string, outcome: NonNullable<ToolCall["outcome"]>, error: string): Part =>
  call({
    id,
    tool: "drop_rows",
    state: "error",
    outcome,
    error,
    args: ARGS,
    started: START,
    ended: START + 2.4,
  });

const pending = (id: string, fields: Partial<ToolCall> = {}): Part =>
  call({
    id,
    tool: "drop_rows",
    state: "pending",
    waiting: "approval",
    args: ARGS,
    digest: "9f86d081",
    ...fields,
  });

export const STORIES: Record<string, Conversation> = {
  empty: {},
  streaming: {
    status: "running",
    messages: [
      user("u1", "Clean up the orders table, please."),
      answer(
        "a1",
        [
          { type: "reasoning", id: "r1", text: "The user wants …" },
          text("t1", "I will look at the table first, then remove what **cannot be"),
          call({
            id: "c1",
            tool: "drop_rows",
            state: "streaming",
            raw: '{"table": "orders", "where": "amount <= 0 or am',
          }),
        ],
        { finish: "" },
      ),
    ],
  },
  running: {
    status: "running",
    messages: [
      user("u1", "Fit the model."),
      answer(
        "a1",
        [
          call({
            id: "c1",
            tool: "fit_model",
            state: "running",
            args: { model: "ridge", folds: 10 },
            progress: { fraction: 0.4, text: "fold 4 of 10" },
            output: "fold 1: 0.81\nfold 2: 0.79\nfold 3: 0.83\nfold 4: …\n",
            started: Date.now() / 1000 - 12,
          }),
          call({
            id: "c2",
            tool: "download",
            state: "running",
            args: { url: "https://example.org/data.csv" },
            started: Date.now() / 1000 - 3,
          }),
        ],
        { finish: "calls" },
      ),
    ],
  },
  batch: {
    status: "waiting",
    messages: [
      user("u1", "Give the new colleagues access."),
      answer(
        "a1",
        [
          ...["ann@example.org", "bob@example.org", "cy@example.org"].map((who, place) =>
            pending(`b${place}`, {
              tool: "grant_access",
              digest: `d${place}`,
              args: {
                user: who,
                role: place === 1 ? "owner" : "reader",
                days: 30 * (place + 1),
                folders: ["/reports", "/orders/2024"],
              },
            }),
          ),
        ],
        { finish: "calls" },
      ),
    ],
  },
  withheld: {
    status: "error",
    messages: [user("u1", "Where is Ada?"), answer("a1", [done("c1")], { finish: "calls" })],
    error: {
      kind: "WithheldError",
      text: "The request was not sent, because it holds values of protected columns: 1 of people.email in what find_email returned.",
      hint: "Send it without them, or send them after all.",
    },
  },
  trimmed: {
    status: "ready",
    messages: [
      { ...user("u0", "My name is Ada. Remember that."), pinned: true },
      { ...answer("a0", [text("t0", "I will.")]) },
      { ...user("u1", "How many orders are there?"), unseen: true },
      { ...answer("a1", [done("c1"), text("t1", "There are 1,204.")]), unseen: true },
      user("u2", "And who am I?"),
      answer("a2", [text("t2", "You are Ada.")]),
    ],
  },
  ruled: {
    status: "waiting",
    messages: [
      user("u1", "Drop what is not paid."),
      answer(
        "a1",
        [
          done("c0", { decision: { approved: true, by: "rule", rule: "r-1" } }),
          failed("c1", "declined", "A rule refuses it. Never drop whole tables."),
          pending("c2", {
            destructive: true,
            expires: Date.now() / 1000 + 272,
            preview: {
              mark: "m1",
              note: "What this call would do has changed since it was shown. Nothing was run: look again.",
              display: {
                "application/vnd.nbtools.table+json": {
                  columns: ["", "region", "amount", "paid"],
                  rows: [
                    [12, "north", 120, false],
                    [40, "south", 80, false],
                    [77, "east", 64, false],
                  ],
                  note: "37 rows; shown: 3",
                },
                "text/plain": "37 rows",
              },
            },
          }),
        ],
        { finish: "calls" },
      ),
    ],
  },
  waiting: {
    status: "waiting",
    messages: [
      user("u1", "Clean up the orders table, please. Leave the rest as it is."),
      answer(
        "a1",
        [
          text("t1", "Three steps, each needs your word."),
          done("c0", { decision: { approved: true, by: "person" } }),
          pending("c1", { destructive: true }),
          pending("c2", {
            tool: "write_file",
            args: {
              path: "out/\u202Egnp.exe",
              content: "import pandas as pd\n\n\ndef main() -> None:\n    print('hello')\n",
              options: { mode: "w", encoding: "utf-8", retries: [1, 2, 3] },
              overwrite: true,
            },
            proposed: {
              path: "out/\u202Egnp.exe",
              content: "import pandas as pd\n\n\ndef main() -> None:\n    print('hello')\n",
              options: { mode: "w", encoding: "utf-8", retries: [1, 2, 3] },
              overwrite: false,
            },
          }),
          call({
            id: "c3",
            tool: "ask_person",
            state: "pending",
            waiting: "result",
            args: { question: "Which region matters most?" },
          }),
        ],
        { finish: "calls" },
      ),
    ],
  },
  failing: {
    status: "error",
    error: {
      kind: "RateLimitError",
      text: "The server answered 429: too many requests.",
      hint: "Wait 20 seconds, or use a smaller model.",
      retry: true,
    },
    messages: [
      user("u1", "Now everything that can go wrong."),
      answer(
        "a1",
        [
          call({
            id: "c1",
            tool: "drop_rows",
            state: "error",
            outcome: "failed",
            error: "KeyError: 'amount'",
            trace:
              "Traceback (most recent call last):\n  File \"clean.py\", line 3, in drop_rows\nKeyError: 'amount'",
            args: ARGS,
            started: START,
            ended: START + 0.012,
          }),
          failed("c2", "timeout", "The tool did not finish within 2 s."),
          failed("c3", "cancelled", "The user cancelled this call."),
          call({
            id: "c4",
            tool: "drop_rows",
            state: "error",
            outcome: "declined",
            error: "The user declined this call.",
            args: ARGS,
            decision: { approved: false, by: "person", reason: "not <b>this</b> table" },
          }),
          failed("c5", "expired", "Nobody decided about this call in time."),
          failed("c6", "invalid", "'where' is missing; expected text."),
          call({
            id: "c7",
            tool: "<img src=x>",
            state: "error",
            outcome: "unknown",
            error: "There is no such tool.",
            args: {},
          }),
          failed("c8", "unanswered", "The user wrote on."),
          failed("c9", "incomplete", "The reply that held it was cut off."),
          failed("c10", "interrupted", "The program restarted while this call ran."),
          failed("c11", "limit", "Five rounds of calls are the limit."),
          {
            type: "notice",
            id: "n1",
            level: "warning",
            text: "The history was shortened.",
            hint: "Clear the chat to begin anew.",
          },
        ],
        { finish: "length" },
      ),
    ],
  },
  jobs: {
    messages: [
      user("u1", "Fit both models, and count the rows meanwhile."),
      answer("a1", [
        done("c1", {
          tool: "fit_model",
          args: { model: "ridge" },
          value: null,
          display: { "text/plain": "Started as job-1." },
        }),
        done("c2", {
          tool: "fit_model",
          args: { model: "forest" },
          value: null,
          display: { "text/plain": "Started as job-2." },
        }),
        done("c3", {
          tool: "top_customers",
          args: { table: "orders", n: 3 },
          handle: "top_customers#1",
          value: null,
          display: { "text/plain": TABLE },
        }),
        failed("c4", "timeout", "It was given 60 s."),
        {
          type: "notice",
          id: "n1",
          about: "c4",
          text: "Its function still runs; what it returns is not used. 2 functions run on in this kernel.",
        },
        {
          type: "job",
          id: "job-1",
          call: "c1",
          tool: "fit_model",
          started: START,
          progress: { fraction: 0.4, text: "fold 2 of 5" },
          output: "fold 1: 0.91\n",
        },
        {
          type: "job",
          id: "job-2",
          call: "c2",
          tool: "fit_model",
          state: "result",
          outcome: "ok",
          value: 0.93,
          display: { "text/plain": "0.93" },
          started: START,
          ended: START + 61,
        },
        {
          type: "job",
          id: "job-3",
          call: "c2",
          tool: "fit_model",
          state: "error",
          outcome: "failed",
          error: "ValueError: Input contains NaN.",
          trace: "Traceback …",
          started: START,
          ended: START + 2,
        },
        text("t1", "Both models are being fitted."),
        {
          type: "notice",
          id: "n3",
          level: "warning",
          limit: "calls",
          text: "A limit was reached: 4 tool calls in answer to one message.",
          hint: "The model may answer once more, without calling anything.",
        },
      ]),
      {
        id: "u2",
        role: "user",
        parts: [{ type: "notice", id: "n2", text: "job-2 (fit_model) is done.", about: "job-2" }],
      },
    ],
  },
  done: {
    messages: [
      user("u1", "Clean up the orders table, please."),
      answer(
        "a1",
        [
          { type: "reasoning", id: "r1", text: "The user wants *clean* data." },
          done("c1", {
            proposed: { ...ARGS, limit: 10 },
            decision: { approved: true, by: "person" },
          }),
          done("c2", {
            tool: "head",
            args: { table: "orders", n: 3 },
            value: null,
            display: { "text/plain": TABLE },
          }),
          done("c3", {
            tool: "plot",
            args: {},
            value: null,
            display: { "image/svg+xml": PICTURE, "text/plain": "<Figure>" },
            output: "drawn\n",
          }),
          done("c4", {
            tool: "describe",
            origin: "user",
            args: { table: "orders" },
            value: {
              rows: 1204,
              columns: ["id", "region", "amount"],
              nested: { a: [1, 2, { b: null }] },
            },
          }),
          done("c5", {
            tool: "web_search",
            origin: "provider",
            args: { query: "pandas drop" },
            value: "3 results",
          }),
          done("c6", { again: "c1", ended: START + 95 }),
          text("t1", MARKDOWN),
          {
            type: "source",
            id: "s1",
            url: "https://pandas.pydata.org/docs/",
            title: "pandas documentation",
          },
          { type: "source", id: "s2", url: "https://example.org/orders", title: "Orders" },
        ],
        { usage: { input: 1204, output: 356 } },
      ),
      user("u2", "Thanks!"),
      answer("a2", [text("t2", "You are welcome.")], { usage: { input: 1610, output: 5 } }),
    ],
  },
};
