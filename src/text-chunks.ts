/** Cuts a text into shorter ones between its characters, never inside one. */
export function* chunksOf(text: string, length_max: number): Generator<string> {
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + length_max)
    const code = text.charCodeAt(end - 1)
    if (end < text.length && code >= 0xd800 && code < 0xdc00) end -= 1
    yield text.slice(start, end)
    start = end
  }
}
