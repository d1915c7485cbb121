package hunts

var sveltekit = []Bug{
	{
		App: "sveltekit", Kind: "hydration mismatch",
		Patches: []Patch{{"src/routes/+page.svelte", `<strong>src/routes/+page.svelte</strong>`, `<strong>{@html new Date().toISOString()}</strong>`}},
		Cause:   []Place{{"src/routes/+page.svelte", `{@html`}},
		Before:  []Step{{Open: "/"}},
	},
	{
		App: "sveltekit", Kind: "missing await",
		Patches: []Patch{{"src/routes/Counter.svelte", "const count = new Spring(0);\n", `const count = new Spring(0);

	async function restore() {
		const answer: any = fetch('/visits');
		count.target = (await answer.json()).visits;
	}

	$effect(() => {
		restore();
	});
`}},
		Cause:  []Place{{"src/routes/Counter.svelte", `fetch('/visits')`}},
		Before: []Step{{Open: "/"}},
	},
	{
		App: "sveltekit", Kind: "covered button",
		Patches: []Patch{{"src/routes/+layout.svelte", "padding: 12px;\n", "padding: 12px;\n\t\tposition: fixed;\n\t\tinset: 0;\n"}},
		Cause:   []Place{{"src/routes/+layout.svelte", `inset: 0;`}},
		Shown:   []Place{{"src/routes/+layout.svelte", `<footer>`}},
		Before:  []Step{{Open: "/"}},
		Trigger: &Step{Click: `button "Increase the counter by one"`},
	},
	{
		App: "sveltekit", Kind: "CSS that hides",
		Patches: []Patch{{"src/routes/sverdle/+page.svelte", "height: min(18vh, 10rem);\n", "height: 0;\n\t\toverflow: hidden;\n"}},
		Cause:   []Place{{"src/routes/sverdle/+page.svelte", `overflow: hidden;`}},
		Shown:   []Place{{"src/routes/sverdle/+page.svelte", `<div class="controls">`}},
		Before:  []Step{{Open: "/sverdle"}},
		Trigger: &Step{Click: `button "w`},
	},
	{
		App: "sveltekit", Kind: "refetch loop",
		Patches: []Patch{{"src/routes/+page.svelte", "import Counter from './Counter.svelte';\n", `import Counter from './Counter.svelte';

	let seen = $state<number[]>([]);

	$effect(() => {
		const after = seen.at(-1) ?? 0;
		fetch('/visits?after=' + after)
			.then((answer) => answer.json())
			.then((answer) => (seen = [...seen, answer.visits]));
	});
`}},
		Cause:  []Place{{"src/routes/+page.svelte", `seen.at(-1)`}},
		Shown:  []Place{{"src/routes/+page.svelte", `fetch('/visits`}},
		Before: []Step{{Open: "/"}},
	},
}

// show opens a post.
var show = Step{Open: "/#/posts/1/show", Expect: `button "Publish"`}

var admin = []Bug{
	{
		App: "admin", Kind: "failing API",
		Patches: []Patch{{"src/posts.tsx", "/publish`, { method: 'POST' }", "/published`, { method: 'POST' }"}},
		Cause:   []Place{{"src/posts.tsx", "/published`"}},
		Before:  []Step{show},
		Trigger: &Step{Click: `button "Publish"`},
	},
	{
		App: "admin", Kind: "race",
		Patches: []Patch{{"src/posts.tsx", `const { version } = await change(record.id, record.version, { status: 'archived' });
    await change(record.id, version, { views: 0 });`, `await Promise.all([
      change(record.id, record.version, { status: 'archived' }),
      change(record.id, record.version, { views: 0 }),
    ]);`}},
		Cause:   []Place{{"src/posts.tsx", `await Promise.all([`}, {"src/posts.tsx", `{ views: 0 }`}},
		Shown:   []Place{{"src/posts.tsx", "await fetch(`/api/posts/${id}`"}, {"src/posts.tsx", `throw new Error(`}},
		Before:  []Step{show},
		Trigger: &Step{Click: `button "Archive"`},
	},
	{
		App: "admin", Kind: "CSS that hides",
		Patches: []Patch{{"src/posts.tsx", `<Button label="Publish" onClick={publish} />`, `<Button label="Publish" onClick={publish} sx={{ visibility: 'hidden' }} />`}},
		Cause:   []Place{{"src/posts.tsx", `visibility: 'hidden'`}},
		Before:  []Step{{Open: "/#/posts/1/show", Expect: `button "Archive"`}},
		Trigger: &Step{Seek: "Publish"},
	},
	{
		App: "admin", Kind: "socket loop",
		Patches: []Patch{{"src/live.ts", "  }, []);", "  }, [connected]);"}},
		Cause:   []Place{{"src/live.ts", `[connected]`}},
		Shown:   []Place{{"src/live.ts", `new WebSocket(`}, {"src/live.ts", `socket?.close()`}},
		Before:  []Step{{Open: "/#/posts", Expect: "A harbour at night"}},
	},
}
