/** nonce is what style elements carry that Mantine and CodeMirror add: the policy of the page allows no others. */
export const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";

// react-remove-scroll, which holds the page still behind a dialog, reads it from this global.
Object.assign(globalThis, { __webpack_nonce__: nonce });
