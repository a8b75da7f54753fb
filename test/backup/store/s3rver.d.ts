/**
 * Types of the part of s3rver in use: a server of the S3 protocol over a folder. The package has none. `s3rver.patch` gives it
 * a cipher that Bun has for tokens of listings, names in order, and signatures of a path that ends with the bucket's slash.
 */
declare module '@20minutes/s3rver' {
  export default class S3rver {
    constructor(options: {
      readonly address: string
      readonly port: number
      readonly silent: boolean
      readonly directory: string
      readonly configureBuckets: readonly { readonly name: string }[]
    })
    run(): Promise<{ readonly port: number }>
    close(): Promise<void>
  }
}
