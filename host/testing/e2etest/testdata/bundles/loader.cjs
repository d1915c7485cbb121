// A loader of webpack's for TypeScript and JSX.
const { transform } = require('esbuild');

module.exports = function load(source) {
  const done = this.async();
  const options = { loader: 'tsx', sourcemap: true, sourcefile: this.resourcePath };
  transform(source, options).then(({ code, map }) => done(null, code, map), done);
};
