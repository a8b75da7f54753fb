/** Lets TypeScript import SQL files as text; the build embeds them into the executable. */
declare module '*.sql' {
  const text: string
  export default text
}
