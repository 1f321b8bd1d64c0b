//! Parses the output of `nvdisasm` and `cuobjdump`.

/// A line of the machine code of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// An instruction or a label.
    Code(String),
    /// The source line of the following instructions.
    Source {
        /// The path of the file in the line table.
        file: String,
        line: usize,
    },
}

/// Returns the code of `kernel` in the output of `nvdisasm -c -g`.
pub(super) fn nvdisasm(text: &str, kernel: &str) -> Vec<Item> {
    let label = format!(".text.{kernel}:");
    let code = text.lines().skip_while(|line| line.trim() != label).skip(1);
    // The code of the kernel ends at the heading of the next section.
    let code = code.take_while(|line| !line.starts_with("//-----") && !line.contains("\t.section"));
    code.filter(|line| !line.trim().is_empty())
        .filter_map(|line| match line.trim().strip_prefix("//##") {
            Some(place) => source(place),
            None => Some(Item::Code(line.trim_end().to_owned())),
        })
        .collect()
}

/// Parses the place in a comment such as `//## File "/workspace/src/lib.rs", line 7`.
fn source(place: &str) -> Option<Item> {
    let (file, rest) = place.split_once("File \"")?.1.split_once("\", line ")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some(Item::Source { file: file.to_owned(), line: digits.parse().ok()? })
}

/// Returns the code in the output of `cuobjdump -sass -fun KERNEL`, without the encodings of the instructions.
pub(super) fn cuobjdump(text: &str) -> Vec<Item> {
    let code = text.lines().skip_while(|line| !line.contains("Function :")).skip(1);
    code.filter_map(|line| {
        let offset = line.trim_start().strip_prefix("/*")?;
        // The second line of an instruction has only its encoding, such as `/* 0x000fe400078e00ff */`.
        let is_instruction = !offset.starts_with(" 0x");
        let instruction = line.rsplit_once("/* 0x").map_or(line, |(code, _)| code);
        is_instruction.then(|| Item::Code(instruction.trim_end().to_owned()))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(line: &str) -> Item {
        Item::Code(line.to_owned())
    }

    #[test]
    fn one_kernel_is_read_with_its_source_lines() {
        let text = "\
\t.target\tsm_75

//--------------------- .text.add2                --------------------------
\t.section\t.text.add2,\"ax\",@progbits
add2:
.text.add2:
        /*0000*/                   NOP ;

//--------------------- .text.add                 --------------------------
\t.section\t.text.add,\"ax\",@progbits
        .type           add,@function
add:
.text.add:
\t//## File \"/workspace/src/lib.rs\", line 7
        /*0000*/                   S2R R0, SR_CTAID.X ;
\t//## File \"/crates/x-1.0.0/a.rs\", line 12 inlined at \"/workspace/src/lib.rs\", line 9
.L_x_1:
        /*0010*/              @!P0 EXIT ;
";
        let place = |file: &str, line| Item::Source { file: file.to_owned(), line };
        let expected = [
            place("/workspace/src/lib.rs", 7),
            code("        /*0000*/                   S2R R0, SR_CTAID.X ;"),
            place("/crates/x-1.0.0/a.rs", 12),
            code(".L_x_1:"),
            code("        /*0010*/              @!P0 EXIT ;"),
        ];
        assert_eq!(nvdisasm(text, "add"), expected);
        assert_eq!(nvdisasm(text, "add2"), [code("        /*0000*/                   NOP ;")]);
        assert_eq!(nvdisasm(text, "other"), []);
    }

    #[test]
    fn encodings_are_removed() {
        let text = "
\tcode for sm_75
\t\tFunction : add
\t.headerflags\t@\"EF_CUDA_SM75\"
        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;  /* 0x00000a00ff017624 */
                                                                           /* 0x000fe400078e00ff */
        /*0010*/                   EXIT ;                                   /* 0x000000000000794d */
\t\t..........
";
        let expected = [
            code("        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;"),
            code("        /*0010*/                   EXIT ;"),
        ];
        assert_eq!(cuobjdump(text), expected);
    }
}
