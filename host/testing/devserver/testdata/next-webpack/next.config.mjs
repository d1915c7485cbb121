export default { outputFileTracingRoot: import.meta.dirname, devIndicators: false };
