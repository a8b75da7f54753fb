/** Types of the part of jStat in use: distributions by their usual parameters. The package has no types. */
declare module 'jstat' {
  type Distribution<Parameters extends readonly number[]> = {
    readonly cdf: (x: number, ...parameters: Parameters) => number
    /** The quantile function. */
    readonly inv: (probability: number, ...parameters: Parameters) => number
  }
  export const jStat: {
    readonly beta: Distribution<[alpha: number, beta: number]>
    readonly gamma: Distribution<[shape: number, scale: number]>
    readonly normal: Distribution<[mean: number, deviation: number]>
    readonly studentt: Distribution<[degrees: number]>
  }
}
