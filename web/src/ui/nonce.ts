/** nonce is what style elements carry that Mantine and CodeMirror add: the policy of the page allows no others. */
export const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
