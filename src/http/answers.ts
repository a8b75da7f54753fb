/** Answers as bytes: JSON with its status, and the headers that every answer carries. */

/** Browsers must take an answer for what it says it is, or text of an attacker's becomes a page. */
export const JSON_HEADERS = {
  'Content-Type': 'application/json',
  'X-Content-Type-Options': 'nosniff',
} as const

/** Answers with JSON. */
export function answerJson(
  body: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify(body), { status, headers: { ...JSON_HEADERS, ...headers } })
}

/** Answers with JSON that is text already. */
export function answerJsonText(text: string, status = 200): Response {
  return new Response(text, { status, headers: JSON_HEADERS })
}

/** Answers that it is done and there is nothing to say. */
export function answerNothing(): Response {
  return new Response(null, { status: 204, headers: { 'X-Content-Type-Options': 'nosniff' } })
}
