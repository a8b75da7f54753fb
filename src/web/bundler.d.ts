/** Types of imports that the bundler resolves. A CSS module is an object with the built names of its classes. */
declare module '*.module.css' {
  const classes: Readonly<Record<string, string>>
  export default classes
}

declare module '*.css'
