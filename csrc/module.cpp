// dynaserve._core: checks what Python passes, then runs the kernels without the GIL.
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <system_error>
#include <thread>

#include "arguments.h"
#include "blake2b.h"
#include "canonical.h"
#include "dispatch.h"
#include "siphash.h"

namespace dynaserve {
namespace {

// ---- running ----

std::string row_name(const py::array& logits, ptrdiff_t row) {
    std::string name;
    for (ptrdiff_t axis = logits.ndim() - 2; axis >= 0; --axis) {
        name = std::to_string(row % logits.shape(axis)) + (name.empty() ? "" : ", ") + name;
        row /= logits.shape(axis);
    }
    return name.empty() ? "the row" : "row " + name;
}

// Says what is wrong with a row, and where, without saying what its values are.
[[noreturn]] void refuse_row(const py::array& logits, const Rows& rows, ptrdiff_t row) {
    const char* p = rows.row(row);
    std::string fault = "is -inf in every class; at least one class must be finite";
    for (ptrdiff_t j = 0; j < rows.classes; ++j, p += rows.class_stride) {
        const double x = rows.type == Type::float16   ? Half::read(p)
                         : rows.type == Type::float32 ? Native<float>::read(p)
                                                      : Native<double>::read(p);
        if (std::isnan(x) || x == INFINITY) {
            fault = std::string("holds ") + (std::isnan(x) ? "NaN" : "+inf") + " at class " +
                    std::to_string(j) + "; logits must be finite, or -inf to mask a class";
            break;
        }
        if (x != -INFINITY) fault = "was written to by another thread while it was read";
    }
    throw py::value_error("logits: " + row_name(logits, row) + " " + fault);
}

// How many threads share the rows: no more than asked for, and each with work worth its start.
ptrdiff_t shares_of(const Rows& rows, const py::object& wanted) {
    const double threads = number_of("threads", wanted);
    if (!(threads >= 1))
        throw py::value_error("threads is " + text(threads) + "; it must be at least 1");
    constexpr ptrdiff_t worth_a_thread = 1 << 15;  // logits
    constexpr ptrdiff_t most = 256;
    const ptrdiff_t useful = std::min(rows.count, rows.count * rows.classes / worth_a_thread);
    return std::clamp<ptrdiff_t>(useful, 1, threads < most ? ptrdiff_t(threads) : most);
}

// Runs kernel(share, begin, end) over all rows; no row's result depends on the split. Returns the
// first bad row, or their count.
template <class Kernel>
ptrdiff_t for_rows(const Rows& rows, ptrdiff_t shares, const Kernel& kernel) {
    const py::gil_scoped_release release;
    if (shares == 1) return kernel(0, 0, rows.count);
    std::vector<ptrdiff_t> stopped(static_cast<std::size_t>(shares));
    const auto edge = [&](ptrdiff_t share) { return rows.count * share / shares; };
    const auto work = [&](ptrdiff_t share) {
        const ptrdiff_t end = edge(share + 1);
        const ptrdiff_t at = kernel(share, edge(share), end);
        stopped[static_cast<std::size_t>(share)] = at < end ? at : rows.count;
    };
    std::vector<std::thread> pool;
    pool.reserve(static_cast<std::size_t>(shares));
    ptrdiff_t share = 1;
    try {
        for (; share < shares; ++share) pool.emplace_back(work, share);
    } catch (const std::system_error&) {
        // no thread to be had: this one does the rest
    }
    for (; share < shares; ++share) work(share);
    work(0);
    for (std::thread& thread : pool) thread.join();
    return *std::min_element(stopped.begin(), stopped.end());
}

std::vector<ptrdiff_t> shape_of(const py::array& logits, ptrdiff_t axes) {
    return {logits.shape(), logits.shape() + axes};
}

// Labels that preserve_top1 gave back in all calls so far. It lives here and not beside the
// kernels, whose files are compiled for processors that may be wider than this one.
std::atomic<std::int64_t> labels_kept{0};

py::array_t<float> dynanoise(const py::object& logits_, const py::object& row_keys,
                             const py::object& base_variance, const py::object& sensitivity_scale,
                             const py::object& temperature, const py::object& preserve_top1,
                             const py::object& threads) {
    const py::array logits = array_of("logits", logits_);
    const Batch batch(logits);
    const Rows& rows = batch.rows();
    const auto parameters = dynanoise_parameters(number_of("base_variance", base_variance),
                                                 number_of("sensitivity_scale", sensitivity_scale),
                                                 number_of("temperature", temperature),
                                                 flag_of("preserve_top1", preserve_top1));
    const auto keys = words("row_keys", array_of("row_keys", row_keys), rows.count, 4);
    py::array_t<float> out(shape_of(logits, logits.ndim()));
    const std::uint32_t* key = keys.data();
    float* p = out.mutable_data();
    const ptrdiff_t shares = shares_of(rows, threads);
    std::atomic<ptrdiff_t> moved_in_all{0};
    const ptrdiff_t stopped =
        for_rows(rows, shares, [&](ptrdiff_t, ptrdiff_t begin, ptrdiff_t end) {
            ptrdiff_t moved = 0;
            const ptrdiff_t at =
                active_kernels().dynanoise(rows, key, parameters, begin, end, p, moved);
            moved_in_all.fetch_add(moved, std::memory_order_relaxed);
            return at;
        });
    if (stopped < rows.count) refuse_row(logits, rows, stopped);
    labels_kept.fetch_add(moved_in_all.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return out;
}

py::array_t<float> sensitivity(const py::object& logits_, const py::object& threads) {
    const py::array logits = array_of("logits", logits_);
    const Batch batch(logits);
    const Rows& rows = batch.rows();
    py::array_t<float> out(shape_of(logits, logits.ndim() - 1));
    float* r = out.mutable_data();
    const ptrdiff_t shares = shares_of(rows, threads);
    // one staged row per thread, made here because a thread may not throw
    std::vector<float> staged(rows.packed ? 0 : static_cast<std::size_t>(shares * rows.classes));
    const auto run = [&](ptrdiff_t share, ptrdiff_t begin, ptrdiff_t end) {
        float* row = rows.packed ? nullptr : staged.data() + share * rows.classes;
        return active_kernels().sensitivity(rows, begin, end, row, r);
    };
    const ptrdiff_t stopped = for_rows(rows, shares, run);
    if (stopped < rows.count) refuse_row(logits, rows, stopped);
    return out;
}

py::array_t<float> rank_template(const py::object& logits_, const py::object& confidence_,
                                 const py::object& rank_weights, const py::object& tail_weight,
                                 const py::object& threads) {
    const py::array logits = array_of("logits", logits_);
    const py::array confidence = array_of("confidence", confidence_);
    const Batch batch(logits);
    const Rows& rows = batch.rows();
    const bool single = py::isinstance<py::array_t<float, packed>>(confidence) &&
                        confidence.ndim() == 1 && confidence.size() == rows.classes;
    const py::array top = single ? confidence : numbers("confidence", confidence, rows.classes);
    const auto weights = numbers("rank_weights", array_of("rank_weights", rank_weights), -1);
    if (weights.size() > RankTemplateParameters::max_ranks) {
        throw py::value_error("rank_weights has " + std::to_string(weights.size()) +
                              " values; at most " +
                              std::to_string(RankTemplateParameters::max_ranks) + " are supported");
    }
    for (ptrdiff_t r = 0; r < weights.size(); ++r) checked("rank_weights", weights.data()[r], 0);
    const double tail = checked("tail_weight", number_of("tail_weight", tail_weight), 0);
    py::array_t<float> out(shape_of(logits, logits.ndim()));
    const RankTemplateParameters parameters = {
        {top.data(), single}, weights.data(), weights.size(), tail};
    float* p = out.mutable_data();
    const ptrdiff_t shares = shares_of(rows, threads);
    const ptrdiff_t stopped =
        for_rows(rows, shares, [&](ptrdiff_t, ptrdiff_t begin, ptrdiff_t end) {
            return active_kernels().rank_template(rows, parameters, begin, end, p);
        });
    if (stopped < rows.count) {
        for (ptrdiff_t c = 0; c < rows.classes; ++c) {
            if (!parameters.is_confidence(parameters.confidence[c])) {
                throw py::value_error("confidence holds a value that is not in [1e-30, 1]");
            }
        }
        refuse_row(logits, rows, stopped);
    }
    return out;
}

// ---- queries ----

py::bytes canonical_bytes(const py::object& array_) {
    py::array array = array_of("array", array_);
    const py::dtype dtype = array.dtype();
    const bool is_complex = dtype.kind() == 'c', is_float = dtype.kind() == 'f' || is_complex;
    const ptrdiff_t number = dtype.itemsize() / (is_complex ? 2 : 1);
    if (std::string("biufc").find(dtype.kind()) == std::string::npos || (is_float && number > 8)) {
        throw py::value_error("array has dtype " + text(dtype) + ", which has no canonical bytes");
    }
    if ((array.flags() & py::array::c_style) == 0 || dtype.byteorder() == '>') {
        array = array.attr("astype")(dtype.attr("newbyteorder")("<"), "C");
    }
    auto bytes = py::reinterpret_steal<py::bytes>(
        PyBytes_FromStringAndSize(static_cast<const char*>(array.data()), array.nbytes()));
    if (!bytes) throw py::error_already_set();
    const auto size = static_cast<std::size_t>(array.nbytes());
    char* p = PyBytes_AS_STRING(bytes.ptr());  // nobody else has seen it yet
    if (is_float && number == 2) canonical_floats<Float16Bits>(p, size);
    if (is_float && number == 4) canonical_floats<Float32Bits>(p, size);
    if (is_float && number == 8) canonical_floats<Float64Bits>(p, size);
    return bytes;
}

// Bytes that so many rows share equally.
class SharedBytes {
  public:
    SharedBytes(const py::object& data, const py::object& rows) : data_(bytes_of("data", data)) {
        const double wanted = number_of("rows", rows);
        if (wanted >= 1 && wanted <= std::max<double>(1, data_.size())) {
            count_ = static_cast<ptrdiff_t>(wanted);
        }
        if (count_ != wanted || data_.size() % count_ != 0) {
            throw py::value_error("data has " + std::to_string(data_.size()) + " bytes, which " +
                                  text(wanted) + " rows cannot share equally");
        }
        size_ = data_.size() / count_;
    }

    ptrdiff_t count() const { return count_; }
    std::size_t size() const { return size_; }
    const char* row(ptrdiff_t row) const { return data_.data() + row * size_; }

    // Whether hashing takes longer than other threads may wait; to hand over the interpreter and
    // get it back can take milliseconds.
    bool are_many() const { return data_.size() > (std::size_t{1} << 16); }

  private:
    std::string_view data_;
    ptrdiff_t count_ = 1;
    std::size_t size_;
};

py::value_error wrong_key(std::string_view key, const std::string& needed) {
    return py::value_error("key has " + std::to_string(key.size()) + " bytes; it must have " +
                           needed);
}

py::array_t<std::uint64_t> siphash(const py::object& key_, const py::object& data,
                                   const py::object& rows_) {
    const std::string_view key = bytes_of("key", key_);
    const SharedBytes rows(data, rows_);
    if (key.size() != SipHash::key_size) throw wrong_key(key, std::to_string(SipHash::key_size));
    const SipHash hash(key.data());
    py::array_t<std::uint64_t> out(rows.count());
    std::uint64_t* const hashes = out.mutable_data();
    std::optional<py::gil_scoped_release> nogil;
    if (rows.are_many()) nogil.emplace();
    for (ptrdiff_t i = 0; i < rows.count(); ++i) hashes[i] = hash(rows.row(i), rows.size());
    return out;
}

py::array_t<std::uint32_t> blake2b(const py::object& key_, const py::object& prefix_,
                                   const py::object& data, const py::object& rows_) {
    const std::string_view key = bytes_of("key", key_), prefix = bytes_of("prefix", prefix_);
    const SharedBytes rows(data, rows_);
    if (key.empty() || key.size() > Blake2b<1>::max_key) {
        throw wrong_key(key, "1 to " + std::to_string(Blake2b<1>::max_key));
    }
    py::array_t<std::uint32_t> out({rows.count(), ptrdiff_t{4}});
    static_assert(4 * sizeof(std::uint32_t) == Blake2b<1>::digest_size);
    auto* const digests = reinterpret_cast<char*>(out.mutable_data());
    std::optional<py::gil_scoped_release> nogil;
    if (rows.are_many()) nogil.emplace();
    Blake2b<1> common(key);
    common.update(prefix.data(), prefix.size());
    active_kernels().blake2b(common, rows.row(0), rows.size(), rows.count(), digests);
    return out;
}

// A table of `size` places, of which a hash has that of its lowest bits, and takes it.
ptrdiff_t count_seen(const py::object& table_, const py::object& hashes_) {
    using Hashes = py::array_t<std::uint64_t, packed>;
    const py::array given = array_of("hashes", hashes_);
    const bool fits = py::isinstance<Hashes>(table_);
    auto table = fits ? py::reinterpret_borrow<Hashes>(table_) : Hashes();
    const auto size = static_cast<std::uint64_t>(table.size());
    if (table.ndim() != 1 || size == 0 || (size & (size - 1)) != 0 || !table.writeable()) {
        throw py::value_error("table must be writeable uint64 (n,), for n a power of two");
    }
    if (!py::isinstance<py::array_t<std::uint64_t>>(given) || given.ndim() != 1) {
        throw py::value_error("hashes must be uint64 (n,)");
    }
    const auto hashes = Hashes::ensure(given);
    if (!hashes) throw py::error_already_set();
    std::uint64_t* const places = table.mutable_data();
    ptrdiff_t seen = 0;
    for (ptrdiff_t i = 0; i < hashes.size(); ++i) {
        const std::uint64_t hash = hashes.data()[i];
        std::uint64_t& place = places[hash & (size - 1)];
        seen += place == hash;
        place = hash;
    }
    return seen;
}

// ---- for tests ----

py::array_t<std::uint32_t> philox4x32(const py::object& counters_, const py::object& keys) {
    const py::array counters = array_of("counters", counters_);
    const ptrdiff_t n = counters.ndim() > 0 ? counters.shape(0) : 0;
    const auto c = words("counters", counters, n, 4);
    const auto k = words("keys", array_of("keys", keys), n, 2);
    py::array_t<std::uint32_t> out({n, ptrdiff_t{4}});
    active_kernels().philox4x32(c.data(), k.data(), n, out.mutable_data());
    return out;
}

py::array_t<float> elementary(const py::object& name, const py::object& x) {
    static const std::vector<std::string> names = {"exp", "log", "sin", "cos"};
    const auto found = std::find(names.begin(), names.end(), text(name));
    if (found == names.end()) {
        throw py::value_error("'" + text(name) + "' is not one of exp, log, sin, cos");
    }
    const py::array values = array_of("x", x);
    const bool angle = *found == "sin" || *found == "cos";
    const bool fits = angle ? py::isinstance<py::array_t<std::uint32_t>>(values)
                            : py::isinstance<py::array_t<float>>(values);
    if (values.ndim() != 1 || !fits) {
        throw py::value_error("x must be one row of " + std::string(angle ? "uint32" : "float32"));
    }
    const auto bits = py::array::ensure(values, packed);
    py::array_t<float> out(values.size());
    active_kernels().elementary(static_cast<Elementary>(found - names.begin()),
                                static_cast<const std::uint32_t*>(bits.data()), values.size(),
                                out.mutable_data());
    return out;
}

std::vector<std::string> available_isas() {
    std::vector<std::string> names;
    for (const Kernels& kernels : available_kernels()) {
        names.emplace_back(kernels.name);
    }
    return names;
}

// Binds a function, and an overload for every other call: pybind11's own error would print the
// arguments that did not fit.
template <class Function, class... Extra>
void define(py::module_& module, const char* name, const char* signature, Function function,
            const Extra&... extra) {
    module.def(name, function, extra...);
    module.def(name, [signature](const py::args&, const py::kwargs&) -> py::object {
        throw py::type_error(std::string("the arguments do not fit ") + signature);
    });
}

}  // namespace
}  // namespace dynaserve

PYBIND11_MODULE(_core, module) {
    using namespace pybind11::literals;
    using namespace dynaserve;
    active_kernels();  // a wrong DYNASERVE_ISA is an error at import, not at the first query
    module.doc() = "The compiled core of DynaServe; see dynaserve/_core.pyi.";
    module.def("isa", [] { return active_kernels().name; });
    module.def("available_isas", &available_isas);
    define(module, "dynanoise",
           "dynanoise(logits, row_keys, base_variance, sensitivity_scale, temperature, "
           "preserve_top1=False, threads=1)",
           &dynanoise, "logits"_a, "row_keys"_a, "base_variance"_a, "sensitivity_scale"_a,
           "temperature"_a, "preserve_top1"_a = false, "threads"_a = 1);
    module.def("labels_kept", [] { return labels_kept.load(std::memory_order_relaxed); });
    define(module, "sensitivity", "sensitivity(logits, threads=1)", &sensitivity, "logits"_a,
           "threads"_a = 1);
    define(module, "rank_template",
           "rank_template(logits, confidence, rank_weights, tail_weight, threads=1)",
           &rank_template, "logits"_a, "confidence"_a, "rank_weights"_a, "tail_weight"_a,
           "threads"_a = 1);
    define(module, "canonical_bytes", "canonical_bytes(array)", &canonical_bytes, "array"_a);
    define(module, "siphash", "siphash(key, data, rows)", &siphash, "key"_a, "data"_a, "rows"_a);
    define(module, "blake2b", "blake2b(key, prefix, data, rows)", &blake2b, "key"_a, "prefix"_a,
           "data"_a, "rows"_a);
    define(module, "count_seen", "count_seen(table, hashes)", &count_seen, "table"_a, "hashes"_a);
    define(module, "philox4x32", "philox4x32(counters, keys)", &philox4x32, "counters"_a, "keys"_a);
    define(module, "elementary", "elementary(name, x)", &elementary, "name"_a, "x"_a);
}
