/** That of the browser, in place of the package that brings one for browsers without it. */
export default (value) => structuredClone(value);
