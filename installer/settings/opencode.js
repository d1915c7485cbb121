// Tells Tidemark what opencode does, and opencode what an edit broke in the browser. `tidemark install` wrote this file.
// It waits for nothing but the report after an edit, and it never throws.
import { spawn } from "node:child_process"

const program = "tidemark"
const edits = new Set(["edit", "write", "multiedit", "apply_patch", "patch"])
const longest = 15_000 // milliseconds; `tidemark hook` limits its own time to less

const hook = (event) =>
  new Promise((resolve) => {
    try {
      const child = spawn(program, ["hook"], { stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
      const timer = setTimeout(() => child.kill(), longest)
      let text = ""
      child.stdout.on("data", (data) => (text += data))
      child.stdin.on("error", () => {})
      child.on("error", () => resolve(""))
      child.on("close", () => {
        clearTimeout(timer)
        try {
          resolve(JSON.parse(text).hookSpecificOutput?.additionalContext ?? "")
        } catch {
          resolve("")
        }
      })
      child.stdin.end(JSON.stringify({ tidemark_agent: "opencode", ...event }))
    } catch {
      resolve("")
    }
  })

export const Tidemark = async ({ directory, client }) => {
  const parents = new Map() // of the sessions of subagents
  const known = new Set() // sessions that were reported to begin
  const prompts = new Map() // the newest one of each session
  const asked = new Set() // messages of the user
  const said = new Map() // the agent's last text of each session
  const begun = new Map() // when calls began

  // A session that is resumed was created in another process.
  const meet = async (id) => {
    if (known.has(id)) return
    known.add(id)
    try {
      const parent = parents.get(id) ?? (await client.session.get({ path: { id } })).data?.parentID
      if (parent) parents.set(id, parent)
    } catch {}
    if (!parents.has(id)) hook({ ...about(id), hook_event_name: "SessionStart", source: "startup" })
    else hook({ ...about(id), hook_event_name: "SubagentStart" })
  }
  const about = (id) => {
    let root = id
    for (let n = 0; parents.has(root) && n < 20; n++) root = parents.get(root)
    const event = { session_id: root, cwd: directory, prompt_id: prompts.get(root) }
    return root === id ? event : { ...event, agent_id: id }
  }
  const call = (id, tool, callID, args) => ({ ...about(id), tool_name: tool, tool_use_id: callID, tool_input: args })
  const took = (callID) => {
    const duration = Date.now() - (begun.get(callID) ?? Date.now())
    begun.delete(callID)
    return duration
  }

  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      try {
        asked.add(message.id)
        await meet(sessionID)
        if (parents.has(sessionID)) return
        prompts.set(sessionID, message.id)
        const prompt = parts.flatMap((p) => (p.type === "text" && !p.synthetic ? [p.text] : [])).join("\n")
        await hook({ ...about(sessionID), hook_event_name: "UserPromptSubmit", prompt })
      } catch {}
    },
    "tool.execute.before": async ({ callID }) => {
      begun.set(callID, Date.now())
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, output) => {
      try {
        const metadata = output.metadata ?? {}
        const told = hook({
          ...call(sessionID, tool, callID, args),
          hook_event_name: "PostToolUse",
          duration_ms: took(callID),
          tool_response: { output: output.output, exit_code: metadata.exit, agentId: metadata.sessionId },
        })
        if (!edits.has(tool)) return
        const text = await told
        if (text) output.output += "\n\n" + text
      } catch {}
    },
    event: async ({ event }) => {
      try {
        const { sessionID, info, part } = event.properties ?? {}
        switch (event.type) {
          case "session.created":
            if (info.parentID) parents.set(info.id, info.parentID)
            await meet(info.id)
            break
          case "message.part.updated":
            if (part.type === "text" && part.text && !asked.has(part.messageID)) said.set(part.sessionID, part.text)
            if (part.type === "tool" && part.state.status === "error" && begun.has(part.callID))
              hook({
                ...call(part.sessionID, part.tool, part.callID, part.state.input),
                hook_event_name: "PostToolUseFailure",
                duration_ms: took(part.callID),
                error: part.state.error,
              })
            break
          case "session.compacted":
            hook({ ...about(sessionID), hook_event_name: "PreCompact", trigger: "auto" })
            break
          case "session.idle":
            // stop_hook_active: the agent has stopped already, so nothing is reported to it.
            hook({
              ...about(sessionID),
              hook_event_name: parents.has(sessionID) ? "SubagentStop" : "Stop",
              last_assistant_message: said.get(sessionID),
              stop_hook_active: true,
            })
            break
          case "session.deleted":
            if (!parents.has(info.id)) hook({ ...about(info.id), hook_event_name: "SessionEnd", reason: "deleted" })
        }
      } catch {}
    },
  }
}
