/** What an import of the web client's scripts is: the path of a file, which the build puts into the executable. */
declare const path: string
export default path
