/** Builds responses: JSON with its status, and the headers that every response carries. */

/**
 * `nosniff` keeps browsers from guessing another content type, so that a caller's text cannot become a page.
 */
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

/** Answers with JSON that is already serialized. */
export function answerJsonText(text: string, status = 200): Response {
  return new Response(text, { status, headers: JSON_HEADERS })
}

/** Answers 204, without a body. */
export function answerNothing(): Response {
  return new Response(null, { status: 204, headers: { 'X-Content-Type-Options': 'nosniff' } })
}
