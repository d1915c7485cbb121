package hunts

// signedIn is what tally's page has once a user is signed in.
const signedIn = `button "Sign out"`

// Ready are the steps that each tool takes once in an application, before its first hunt there. They also have the
// development server find all packages.
var Ready = map[string][]Step{
	"tally": {
		{Open: "/"},
		{Fill: []Field{{`textbox "E-mail"`, "ada@example.com"}, {`textbox "Password"`, "calculus"}}, Submit: `button "Sign in"`, Unless: signedIn, Expect: signedIn},
	},
	"board":     {{Open: "/"}},
	"sveltekit": {{Open: "/sverdle"}, {Open: "/"}},
	"admin":     {{Open: "/", Expect: "A harbour at night"}},
}

// Apps are the applications, in the order in which they run.
var Apps = []string{"tally", "board", "sveltekit", "admin"}

// Bugs are all bugs, two of each kind.
var Bugs = append(append(tally, board...), append(sveltekit, admin...)...)

var tally = []Bug{
	{
		App: "tally", Kind: "failing API",
		Patches: []Patch{{"server/app.ts", `notifications.filter((one) => !unread || one.unread)`, `notifications.items.filter((one) => !unread || one.unread)`}},
		Cause:   []Place{{"server/app.ts", `notifications.items.filter`}},
		Shown:   []Place{{"src/pages/Notifications.tsx", `.get('/api/notifications')`}, {"src/components/Header.tsx", `.get('/api/notifications'`}},
		Before:  []Step{{Open: "/profile"}},
		Trigger: &Step{Click: `link "Notifications`},
	},
	{
		App: "tally", Kind: "wrong reducer",
		Patches: []Patch{{"src/machines/feed.ts", `context.items.map((item) => (item.id === event.id ? { ...item, likes: event.likes } : item)),`, `({ ...context.items, [event.id]: { likes: event.likes } }) as never,`}},
		Cause:   []Place{{"src/machines/feed.ts", `[event.id]: { likes`}},
		Shown:   []Place{{"src/pages/Feed.tsx", `{items.map((item) => (`}},
		Before:  []Step{{Open: "/"}},
		Trigger: &Step{Click: `button "Like Lunch"`},
	},
	{
		App: "tally", Kind: "stale closure",
		Patches: []Patch{{"src/components/CommentForm.tsx", `[id, text, onDone]`, `[id]`}},
		Cause:   []Place{{"src/components/CommentForm.tsx", `[id],`}},
		Shown:   []Place{{"src/components/CommentForm.tsx", `(COMMENT, { id, text })`}},
		Before:  []Step{{Open: "/payments/p1"}},
		Trigger: &Step{Fill: []Field{{`textbox "Comment"`, "See you there"}}, Submit: `button "Add comment"`},
	},
	{
		App: "tally", Kind: "GraphQL error", Detail: "unknown field",
		Patches: []Patch{{"src/queries.ts", "      amount\n      note\n      comments {", "      amount\n      memo\n      comments {"}},
		Cause:   []Place{{"src/queries.ts", "      memo"}},
		Shown:   []Place{{"src/pages/PaymentDetail.tsx", `(PAYMENT, { id })`}},
		Before:  []Step{{Open: "/"}},
		Trigger: &Step{Click: `link "Lunch"`},
	},
	{
		App: "tally", Kind: "GraphQL error", Detail: "resolver",
		Patches: []Patch{{"server/graphql.ts", `one.to === user.name).reduce(`, `one.to === user.name).sum(`}},
		Cause:   []Place{{"server/graphql.ts", `.sum(`}},
		Shown:   []Place{{"src/pages/Profile.tsx", `(SUMMARY)`}},
		Before:  []Step{{Open: "/"}},
		Trigger: &Step{Click: `link "Profile"`},
	},
	{
		App: "tally", Kind: "refetch loop",
		Patches: []Patch{{"src/components/Header.tsx", `const options = onlyUnread;`, `const options = { ...onlyUnread };`}},
		Cause:   []Place{{"src/components/Header.tsx", `const options = {`}},
		Shown:   []Place{{"src/components/Header.tsx", `.get('/api/notifications'`}},
		Before:  []Step{{Open: "/"}},
	},
	{
		App: "tally", Kind: "hydration mismatch",
		Patches: []Patch{{"src/components/Header.tsx", `<span>{user.name}</span>`, `<span>{user.name}, {performance.now()}</span>`}},
		Cause:   []Place{{"src/components/Header.tsx", `performance.now()`}},
		Before:  []Step{{Open: "/pay"}},
	},
	{
		App: "tally", Kind: "race",
		Patches: []Patch{{"src/pages/Profile.tsx", `      const profile = await axios.get('/api/profile');
      setForm(profile.data);
      const limits = await axios.get('/api/limits');
      setLeft(limits.data.month - profile.data.spent.month);`, `      let profile: any;
      axios.get('/api/profile').then((answer) => {
        profile = answer;
        setForm(answer.data);
      });
      const limits = await axios.get('/api/limits');
      setLeft(limits.data.month - profile.data.spent.month);`}},
		Cause:   []Place{{"src/pages/Profile.tsx", `.get('/api/profile').then`}},
		Shown:   []Place{{"src/pages/Profile.tsx", `setLeft(limits.data.month`}},
		Before:  []Step{{Open: "/"}},
		Trigger: &Step{Click: `link "Profile"`},
	},
	{
		App: "tally", Kind: "wrong payload",
		Patches: []Patch{{"src/pages/NewPayment.tsx", `amount: Math.round(Number(amount) * 100),`, `amount,`}},
		Cause:   []Place{{"src/pages/NewPayment.tsx", `      amount,`}},
		Shown:   []Place{{"src/pages/NewPayment.tsx", `.post('/api/payments', payment)`}},
		Before:  []Step{{Open: "/pay"}},
		Trigger: &Step{
			Fill:   []Field{{`combobox "To"`, "Grace Murray"}, {`textbox "Amount"`, "12.50"}, {`textbox "Note"`, "Tea"}},
			Submit: `button "Pay now"`,
		},
	},
}

var board = []Bug{
	{
		App: "board", Kind: "socket loop",
		Patches: []Patch{
			{"src/live.ts", `/live?v=2`, `/live`},
			{"src/live.ts", `setTimeout(connect, 1000 * 2 ** failures);`, `connect();`},
		},
		Cause:  []Place{{"src/live.ts", `    connect();`}},
		Shown:  []Place{{"src/live.ts", `new WebSocket(`}},
		Before: []Step{{Open: "/"}},
	},
	{
		App: "board", Kind: "missing await",
		Patches: []Patch{{"src/components/TaskDialog.vue", `await getTask(props.id)`, `getTask(props.id) as any`}},
		Cause:   []Place{{"src/components/TaskDialog.vue", `getTask(props.id)`}},
		Shown:   []Place{{"src/components/TaskDialog.vue", `task.title.toUpperCase()`}},
		Before:  []Step{{Open: "/"}},
		Trigger: &Step{Click: `button "Book the venue"`},
	},
	{
		App: "board", Kind: "wrong payload",
		Patches: []Patch{{"src/api.ts", `{ title, column }`, `{ name: title, column }`}},
		Cause:   []Place{{"src/api.ts", `{ name: title, column }`}},
		Shown:   []Place{{"src/api.ts", `method: 'POST'`}, {"src/components/NewTask.vue", `await createTask(`}},
		Before:  []Step{{Open: "/"}},
		Trigger: &Step{Fill: []Field{{`textbox "New task"`, "Order lunch"}}, Submit: `button "Add task"`},
	},
	{
		App: "board", Kind: "covered button",
		Patches: []Patch{{"src/components/ToastArea.vue", "  padding: 1rem;\n  pointer-events: none;\n", "  padding: 1rem;\n"}},
		Cause:   []Place{{"src/components/ToastArea.vue", `.toast-area {`}, {"src/components/ToastArea.vue", `padding: 1rem;`}},
		Shown:   []Place{{"src/components/ToastArea.vue", `<div class="toast-area">`}},
		Before:  []Step{{Open: "/"}},
		Trigger: &Step{Click: `button "Finish Book the venue"`},
	},
	{
		App: "board", Kind: "wrong reducer",
		Patches: []Patch{{"src/store.ts", `      return tasks.map((one) => (one.id === action.task.id ? action.task : one));`, `      tasks.map((one) => (one.id === action.task.id ? action.task : one));
      break;`}},
		Cause:   []Place{{"src/store.ts", `tasks.map((one)`}},
		Shown:   []Place{{"src/components/BoardColumn.vue", `store.tasks.filter(`}},
		Before:  []Step{{Open: "/"}},
		Trigger: &Step{Click: `button "Finish Book the venue"`},
	},
	{
		App: "board", Kind: "stale closure",
		Patches: []Patch{{"src/App.vue", "async function remove() {\n  const id = store.selected;\n", "const id = store.selected;\n\nasync function remove() {\n"}},
		Cause:   []Place{{"src/App.vue", `const id = store.selected;`}},
		Shown:   []Place{{"src/api.ts", `method: 'DELETE'`}, {"src/App.vue", `await deleteTask(id)`}},
		Before:  []Step{{Open: "/"}, {Click: `button "Book the venue"`, Expect: `button "Delete task"`}},
		Trigger: &Step{Click: `button "Delete task"`},
	},
}
