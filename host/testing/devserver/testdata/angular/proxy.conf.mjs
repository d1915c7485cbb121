export default { '/api': { target: process.env.API } };
