// Reads a list of {cols, rows, parts, each} from standard input, feeds each to xterm.js, and writes for each what it shows and where
// the cursor is. A part is text. With each, it writes that after each part.
const { createRequire } = require("node:module");
const from = createRequire(process.argv[2]);
const { Terminal } = from("@xterm/headless");
const { Unicode11Addon } = from("@xterm/addon-unicode11");

let input = "";
process.stdin.setEncoding("utf8"); // a character may be cut by a chunk
process.stdin.on("data", (d) => {
  input += d;
});
process.stdin.on("end", async () => {
  const out = [];
  for (const { cols, rows, parts, each } of JSON.parse(input)) {
    const t = new Terminal({ cols, rows, allowProposedApi: true, scrollback: 0, logLevel: "off" });
    t.loadAddon(new Unicode11Addon());
    t.unicode.activeVersion = "11";
    for (const [i, p] of parts.entries()) {
      await new Promise((done) => t.write(p, done));
      if (!each && i < parts.length - 1) continue;
      const b = t.buffer.active;
      const lines = [];
      for (let y = 0; y < rows; y++) lines.push(b.getLine(b.baseY + y).translateToString(true).trimEnd());
      out.push({ lines, x: Math.min(b.cursorX, cols - 1), y: b.cursorY, alternate: b.type === "alternate" });
    }
    t.dispose();
  }
  process.stdout.write(JSON.stringify(out));
});
