/** The package has no types of its own; by way of an import, what it exports is under `default`. */
declare module "workerd" {
  const exported: { /** The path of the program. */ default: string };
  export default exported;
}
