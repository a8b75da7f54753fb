/**
 * The type of an import of the web client's scripts: the path of a file that the build embeds in the
 * executable.
 */
declare const path: string
// Imports of files have no other form.
// oxlint-disable-next-line import/no-default-export
export default path
