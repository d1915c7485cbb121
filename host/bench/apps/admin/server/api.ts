import jsonServer from 'json-server';

const posts = ['Tides of the North Sea', 'A harbour at night', 'Reading a chart'].map((title, i) => ({
  id: i + 1,
  title,
  body: `${title} is a post.`,
  status: 'draft',
  views: 10 * (i + 1),
  version: 1,
}));

export const server = jsonServer.create();
const router = jsonServer.router({ posts, comments: [{ id: 1, postId: 1, body: 'Good read' }] });

server.use(jsonServer.defaults({ logger: false, static: '.', readOnly: false }));
server.use(jsonServer.bodyParser);

server.post('/posts/:id/publish', (req, res) => {
  res.json(router.db.get('posts').find({ id: Number(req.params.id) }).assign({ status: 'published' }).write());
});

// A change names the version that it was made from.
server.patch('/posts/:id', (req, res) => {
  const post = router.db.get('posts').find({ id: Number(req.params.id) });
  const { version } = post.value();
  if (req.body.version !== version) {
    res.status(409).json({ message: `Version ${req.body.version} of this post is not the newest one` });
    return;
  }
  res.json(post.assign({ ...req.body, version: version + 1 }).write());
});

server.use(router);
