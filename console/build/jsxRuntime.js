/**
 * `react/jsx-runtime` as a module with named exports. React's own is CommonJS, so that each of the 1,700 calls in the
 * built files would be `(0,module.jsx)(`, which makes them 13 KB larger.
 */
import runtime from "../node_modules/react/jsx-runtime.js";

export const Fragment = runtime.Fragment;
export const jsx = runtime.jsx;
export const jsxs = runtime.jsxs;
