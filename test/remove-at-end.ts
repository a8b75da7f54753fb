/** Removes folders that the tests of a process share after its end, however it ends. */

/** Their standard input is open as long as this process lives. */
const removers: Bun.Subprocess<'pipe'>[] = []

/** Removes a folder a moment after the end of this process, with which its servers end too. */
export function removeAtEnd(folder: string): void {
  const remove = 'cat; sleep 2; rm -rf "$0"; sleep 5; rm -rf "$0"'
  const child = Bun.spawn(['sh', '-c', remove, folder], {
    stdin: 'pipe',
    stdout: 'ignore',
    stderr: 'ignore',
  })
  child.unref()
  removers.push(child)
}
