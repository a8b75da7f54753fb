/** Cuts a stream of bytes into lines. */

/** The lines as they come, without their ends; a last line without an end is left out. */
export async function* linesOf(
  input: ReadableStream<Uint8Array>,
): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of input) {
    const lines = `${text}${decoder.decode(bytes, { stream: true })}`.split('\n')
    text = lines.pop() ?? ''
    yield* lines
  }
}
