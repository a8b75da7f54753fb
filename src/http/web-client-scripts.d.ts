/** Lets TypeScript import the web client's scripts as what the build makes of them: paths of files inside the executable. */
declare module 'posthog-js/dist/array.js' {
  const path: string
  export default path
}
declare module 'posthog-js/dist/dead-clicks-autocapture.js' {
  const path: string
  export default path
}
declare module 'posthog-js/dist/exception-autocapture.js' {
  const path: string
  export default path
}
declare module 'posthog-js/dist/surveys.js' {
  const path: string
  export default path
}
declare module 'posthog-js/dist/tracing-headers.js' {
  const path: string
  export default path
}
declare module 'posthog-js/dist/web-vitals.js' {
  const path: string
  export default path
}
