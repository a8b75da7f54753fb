/** What the bundler adds to TypeScript. An imported CSS module has the built names of its classes. */
declare module '*.module.css' {
  const classes: Readonly<Record<string, string>>
  export default classes
}

declare module '*.css'
