/** What an import of the web client's scripts is: the path of a file, which the build puts into the executable. */
declare const path: string
// Imports of files have no other form.
// oxlint-disable-next-line import/no-default-export
export default path
